// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <string>

/// Marks what users of the shared library may call; everything else in it is hidden.
#if defined(__GNUC__)
#define SPEAD_API __attribute__((visibility("default")))
#else
#define SPEAD_API
#endif

/// Errors of the control world. The data path never throws. Installed as <spead/error.hpp>.
namespace spead {

/// Says what was wrong, where, and what to do, as one sentence a user can act on. Whatever words of others
/// it names, it can be shown anywhere: control characters and broken UTF-8 are escaped.
///
/// `where()` is the option, the configuration's file:line, the port or the file that the error is about; it
/// may be empty. `what()` is "where: message" (or the message alone).
class SPEAD_API Error : public std::runtime_error {
  public:
    explicit Error(const std::string& message);
    Error(const std::string& where, const std::string& message);
    Error(const Error&) = default;
    Error& operator=(const Error&) = default;
    ~Error() override;

    const std::string& where() const noexcept { return where_; }

  private:
    std::string where_;
};

/// Refuses what can never be, on this machine or another, now or later: a bad option, key, unit or endpoint.
/// The program ends with status 2. What is absent today (an interface, a file, a process) is a plain Error.
class SPEAD_API UsageError : public Error {
  public:
    using Error::Error;
    UsageError(const UsageError&) = default;
    UsageError& operator=(const UsageError&) = default;
    ~UsageError() override;
};

}  // namespace spead
