// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

/// What DPDK's telemetry can carry (22.11: lib/telemetry). It drops what does not fit without a word, so that
/// answers are made to fit before. Pure.
namespace spead::observe {

/// Of an answer as text; DPDK has 16 KiB for it with the command and its own punctuation.
inline constexpr std::size_t kTelemetryBytes = 15000;
inline constexpr std::size_t kTelemetryString = 127;
/// Bytes of a string that is the whole answer; its quotes and backslashes count twice.
inline constexpr std::size_t kTelemetryText = 8191;

/// The value as telemetry can say it. Objects stay objects, with names of letters, digits and `_`. Lists of
/// counts or of strings stay lists; of anything else they become objects with the members "0", "1", ...
/// Numbers that are not whole become strings, true and false 1 and 0; what is null is left out. Strings are
/// ASCII (anything else is `?`) and cut to kTelemetryString. Where the whole would be longer than
/// kTelemetryBytes, lists are cut, and "left_out" beside them says so; a list that is the whole answer is cut
/// without.
nlohmann::ordered_json fit_telemetry(const nlohmann::ordered_json& value);

/// Printable ASCII, `?` for anything else.
std::string ascii(std::string_view text);

}  // namespace spead::observe
