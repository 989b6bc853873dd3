// SPDX-License-Identifier: BSD-3-Clause
#include "app/program.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include "app/command_line.hpp"
#include "app/exit_status.hpp"
#include "base/error.hpp"
#include "base/line_output.hpp"
#include "base/log.hpp"
#include "base/privileges.hpp"
#include "base/tell.hpp"
#include "port/machine.hpp"
#include "process/standard_streams.hpp"

namespace spead::app {

namespace {

/// Limits the wait at the end for a reader of standard error that takes nothing.
constexpr std::chrono::milliseconds kLastWordsPatience{1000};

int parse_and_carry_out(int argc, char** argv) {
    try {
        const CommandLine line = parse_command_line(argc, argv, process_environment,
                                                    [] { return port::lone_port(port::this_machine()); });
        if (line.command == nullptr) {
            tell(stdout, "{}", line.text);
            return kSuccess;
        }
        if (!line.invocation.common.log_level.empty())
            set_log_level(line.invocation.common.log_level);
        for (const std::string& remark : line.invocation.remarks)
            log_notice(LogType::app, "{}", remark);
        return line.command->run(line.invocation);
    } catch (const UsageError& e) {
        tell(stderr, "dpdk-spead: {}\n", e.what());
        return kUsage;
    } catch (const std::exception& e) {
        tell(stderr, "dpdk-spead: {}\n", reason_of(e));
        return kFailure;
    }
}

}  // namespace

int run_program(int argc, char** argv) {
    process::fill_standard_descriptors();
    // No child process may gain privileges by being set-user-ID.
    refuse_new_privileges();
    int status = parse_and_carry_out(argc, argv);
    if (const auto why = process::finish_standard_output()) {
        tell(stderr, "dpdk-spead: standard output: some output was not written: {}\n", *why);
        status = status == kSuccess ? kFailure : status;
    }
    standard_error().finish(kLastWordsPatience);
    return status;
}

}  // namespace spead::app
