// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

/// Fits answers to DPDK's telemetry (22.11: lib/telemetry), which silently drops the excess. Pure.
namespace spead::observe {

/// Limits an answer as text. DPDK has 16 KiB for it with the command and its own punctuation.
inline constexpr std::size_t kTelemetryBytes = 15000;
inline constexpr std::size_t kTelemetryString = 127;
/// Limits the bytes of a string that is the whole answer; its quotes and backslashes count twice.
inline constexpr std::size_t kTelemetryText = 8191;

/// Returns the value in a form that telemetry can carry. Objects stay objects, with names of letters, digits
/// and `_`. Lists of counts or of strings stay lists; others become objects with the members "0", "1", ...
/// Fractions become strings, true and false 1 and 0; null is left out. Strings are ASCII (other characters
/// become `?`) and cut to kTelemetryString. If the whole exceeds kTelemetryBytes, lists are cut, and
/// "left_out" beside them says so. A list that is the whole answer is cut without that mark.
nlohmann::ordered_json fit_telemetry(const nlohmann::ordered_json& value);

/// Returns printable ASCII, with `?` for other characters.
std::string ascii(std::string_view text);

}  // namespace spead::observe
