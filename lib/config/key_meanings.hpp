// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

/// What keys mean, in a few words for those who type them; docs/configuration.md tells more.
namespace spead::config {

/// Returns the meaning of a key of stream_keys() or send_keys() (config/edit.hpp); empty for any other.
std::string_view meaning_of_stream_key(std::string_view key);
std::string_view meaning_of_send_key(std::string_view key);

}  // namespace spead::config
