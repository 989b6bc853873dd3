// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Reads the paths and queries of requests to the API (RFC 3986). They may be anything. Pure.
namespace spead::observe {

/// Returns the text with each %XX as its byte. Nothing: a `%` without two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

/// Returns the decoded parts between the slashes of a path: {"api", "v1"}. Nothing: a part cannot be decoded.
std::optional<std::vector<std::string>> path_parts(std::string_view path);

/// Returns the values of "a=b&c=d" by name. Throws UsageError for a name that is not `known`, or comes twice,
/// and for a part without `=`.
std::map<std::string, std::string> query_values(std::string_view query,
                                                const std::vector<std::string_view>& known);

/// Returns a number without a sign. Throws UsageError that names `what`.
std::uint64_t query_number(std::string_view text, std::string_view what);

}  // namespace spead::observe
