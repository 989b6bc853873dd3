// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/error.hpp"

namespace spead {

/// Returns what reason_of() does, of the exception that is being handled, which may be of any type. Valid
/// while it is handled.
inline const char* reason_of_current() noexcept {
    try {
        throw;
    } catch (const std::exception& error) {
        return reason_of(error);
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

}  // namespace spead
