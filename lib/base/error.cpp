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

}  // namespace spead
