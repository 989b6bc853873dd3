// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

/// Checks how many file descriptors (RLIMIT_NOFILE) and threads the process may have, and reserves the last
/// descriptors. If either runs out, EAL ends the process (rte_panic), so both are checked beforehand.
namespace spead::runtime {

/// Holds the number of descriptors that clients cannot use: EAL's interrupt thread needs one whenever its
/// descriptors change.
inline constexpr std::size_t kKeptDescriptors = 16;

/// Raises the limit as far as the process may. Throws Error when it does not allow `needed` in all.
void need_descriptors(std::size_t needed);

/// Returns whether a descriptor that was opened just now is one of the last kKeptDescriptors. If it was
/// opened for a client, the caller closes it again. The kernel assigns the lowest free number.
bool is_one_of_the_last(int fd) noexcept;

/// Throws Error when fewer than kKeptDescriptors can be opened. Call it before an action for which EAL needs
/// some. `what` names that action in the error.
void need_kept_descriptors(const char* what);

/// Throws Error when the process cannot start `needed` more threads.
void need_threads(std::size_t needed);

}  // namespace spead::runtime
