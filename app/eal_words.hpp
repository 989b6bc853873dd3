// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Recognises the words of a command line that are for EAL. Pure.
namespace spead::app {

/// Returns whether a word is a well-known EAL option, for a hint when one is among ours.
bool is_eal_option(std::string_view word);

/// Throws UsageError that says where such an option belongs.
[[noreturn]] void refuse_eal_option(std::string_view word);

/// Returns the devices that EAL's --vdev makes, by name.
std::vector<std::string> eal_devices(const std::vector<std::string>& eal);

}  // namespace spead::app
