// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/printable.hpp"

/// Errors of the control world. The data path never throws.
namespace spead {

/// What was wrong, where, and what to do, as one sentence a user can act on. It is printable() whatever words
/// of others it names, so that it can be shown anywhere.
///
/// `where()` is the option, the configuration's file:line, the port or the file that the error is about; it
/// may be empty. `what()` is "where: message" (or the message alone).
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& message) : std::runtime_error(printable(message)) {}
    Error(const std::string& where, const std::string& message)
        : std::runtime_error(printable(where.empty() ? message : where + ": " + message)),
          where_(printable(where)) {}

    const std::string& where() const noexcept { return where_; }

  private:
    std::string where_;
};

/// The user typed something that can never be, on this machine or another, now or later: a bad option, key,
/// unit or endpoint. Exit status 2. What is absent today (an interface, a file, a process) is a plain Error.
class UsageError : public Error {
  public:
    using Error::Error;
};

/// Returns what an exception says, for a user: std::bad_alloc's own words tell nobody anything.
inline const char* reason_of(const std::exception& error) noexcept {
    return dynamic_cast<const std::bad_alloc*>(&error) != nullptr
               ? "no memory is left for it; give the process or its control group more, or lower [memory] "
                 "heaps"
               : error.what();
}

/// throw_error("port p0", "cannot ... {}", x)
template <typename... Args>
[[noreturn]] void throw_error(const std::string& where, fmt::format_string<Args...> format, Args&&... args) {
    throw Error(where, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void throw_usage(const std::string& where, fmt::format_string<Args...> format, Args&&... args) {
    throw UsageError(where, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace spead
