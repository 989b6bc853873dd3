// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

/// How many file descriptors (RLIMIT_NOFILE) and threads the process may have, and who gets the last
/// descriptors. EAL ends the process (rte_panic) where it lacks one or the other: it is looked for before.
namespace spead::runtime {

/// So many are kept from strangers who connect: EAL's interrupt thread needs one whenever its descriptors
/// change.
inline constexpr std::size_t kKeptDescriptors = 16;

/// Raises the limit as far as the process may. Throws Error when it does not allow `needed` in all.
void need_descriptors(std::size_t needed);

/// Whether a descriptor that was opened just now is one of the last kKeptDescriptors: whoever got it for a
/// stranger closes it again. The kernel gives the lowest that is free.
bool is_one_of_the_last(int fd) noexcept;

/// Throws Error when fewer than kKeptDescriptors can be opened: before something that EAL needs some for.
/// `what` is what would have been done.
void need_kept_descriptors(const char* what);

/// Throws Error when the process cannot start so many threads more.
void need_threads(std::size_t needed);

}  // namespace spead::runtime
