// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"

#include "base/printable.hpp"

namespace spead {

Error::Error(const std::string& message) : std::runtime_error(printable(message)) {}

Error::Error(const std::string& where, const std::string& message)
    : std::runtime_error(printable(where.empty() ? message : where + ": " + message)),
      where_(printable(where)) {}

Error::~Error() = default;

UsageError::~UsageError() = default;

void throw_formatted_error(const std::string& where, fmt::string_view format, fmt::format_args args) {
    throw Error(where, fmt::vformat(format, args));
}

void throw_formatted_usage(const std::string& where, fmt::string_view format, fmt::format_args args) {
    throw UsageError(where, fmt::vformat(format, args));
}

}  // namespace spead
