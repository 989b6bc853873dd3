// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

/// Errors of the control world. The data path never throws.
namespace spead {

/// What was wrong, where, and what to do, as one sentence a user can act on.
///
/// `where()` is the option, the configuration's file:line, the port or the file that the error is about; it
/// may be empty. `what()` is "where: message" (or the message alone).
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& message) : std::runtime_error(message) {}
    Error(std::string where, const std::string& message)
        : std::runtime_error(where.empty() ? message : where + ": " + message), where_(std::move(where)) {}

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

/// throw_error("port p0", "cannot ... {}", x)
template <typename... Args>
[[noreturn]] void throw_error(std::string where, fmt::format_string<Args...> format, Args&&... args) {
    throw Error(std::move(where), fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void throw_usage(std::string where, fmt::format_string<Args...> format, Args&&... args) {
    throw UsageError(std::move(where), fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace spead
