// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <string>

/// Marks symbols that users of the shared library may use; all others are hidden.
#if defined(__GNUC__)
#define SPEAD_API __attribute__((visibility("default")))
#else
#define SPEAD_API
#endif

/// Defines errors of control code. The data path never throws. Installed as <spead/error.hpp>.
namespace spead {

/// Reports a fault, its place and the fix, in one sentence. It can be shown anywhere: control characters and
/// broken UTF-8 in quoted words are escaped.
///
/// `where()` is the option, the configuration's file:line, the port or the file of the error; it may be
/// empty. `what()` is "where: message" (or the message alone).
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

/// Refuses values that are invalid on every machine and at any time: a bad option, key, unit or endpoint. The
/// program ends with status 2. Anything absent at present (an interface, a file, a process) is a plain Error.
class SPEAD_API UsageError : public Error {
  public:
    using Error::Error;
    UsageError(const UsageError&) = default;
    UsageError& operator=(const UsageError&) = default;
    ~UsageError() override;
};

}  // namespace spead
