// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace spead::app {

/// Runs the whole program but main(): reads the command line, carries it out, prints the result. Returns the
/// exit status: 0 success, 1 something failed, 2 the command line or the configuration is wrong. Throws
/// nothing.
int run_program(int argc, char** argv);

}  // namespace spead::app
