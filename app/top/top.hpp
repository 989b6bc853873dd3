// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "app/top/top_frame.hpp"

namespace spead::app {

struct TopOptions {
    std::string process;  ///< name, pid or socket; empty: the only one
    bool once = false;    ///< one picture as text, rather than the screen
    double interval = 1;  ///< seconds between pictures, and the span of rates
    TopView view;
    bool operator==(const TopOptions&) const = default;
};

/// Runs `top`: shows a running process until `q`, a signal or its end. Starts no EAL. Returns an exit status;
/// throws UsageError and Error.
int top(const TopOptions& options);

}  // namespace spead::app
