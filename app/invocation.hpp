// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace spead::app {

/// Holds the options that most commands share (add_common_options).
struct CommonOptions {
    std::string json_path;  ///< final report; "-": standard output; empty: none
    std::string log_level;  ///< empty: unchanged
    bool quiet = false;     ///< no progress line, no final table
    bool check = false;     ///< print the effective plan and EAL's arguments, then exit
};

/// Holds the words and options of a command line that do not belong to one command.
struct Invocation {
    /// Holds the words before the first `--`, without the program's name; empty when there is no `--`.
    std::vector<std::string> eal_args;
    /// Holds the words after the command's own `--`, if it takes any (CommandEntry::takes_rest).
    std::vector<std::string> rest;
    CommonOptions common;
    std::vector<std::string> remarks;  ///< for the user
};

}  // namespace spead::app
