// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "base/log.hpp"
#include "config/key_field.hpp"
#include "config/keys/tables.hpp"
#include "config/limits.hpp"

namespace spead::config::keys {

namespace {

using runtime::EndPlan;
using runtime::MemoryPlan;
using runtime::RuntimePlan;

constexpr std::array kRuntimeKeys{
    Key{
        .name = "name",
        .field = text<&RuntimePlan::name>,
        .example = "\"capture1\"",
        .help = "Names the process to EAL and to attach",
    },
    Key{
        .name = "main_cpu",
        .field = cpu<&RuntimePlan::main_cpu>,
        .range = kCpu,
        .unset = "first allowed",
        .help = "Places the main lcore on this CPU",
    },
    Key{
        .name = "lcores",
        .field = cpus<&RuntimePlan::lcores>,
        .range = kCpu,
        .unset = "all others",
        .help = "Lists the CPUs that worker lcores may use",
    },
    Key{
        .name = "live",
        .field = flag<&RuntimePlan::live>,
        .terse = true,
        .help = "Reserves lcores, queues and memory at the start for streams that are added later",
    },
    Key{
        .name = "control",
        .field = text<&RuntimePlan::control>,
        .unset = "`\"auto\"` for `run`, if it can; off for other commands",
        .example = "\"auto\"",
        .option = "--control",
        .word = "auto|PATH|off",
        .help = "Sets the control socket: auto (by name), a path, or off",
    },
    Key{
        .name = "log_level",
        .field = text<&RuntimePlan::log_level>,
        .change = Change::immediate,
        .unset = "`\"notice\"`",
        .example = "\"info\"",
        .option = "--log-level",
        .word = "LEVEL",
        .help = "Sets the log level: error, warning, notice, info, debug, or PATTERN:LEVEL",
        .check = [](const std::string& level, const std::string& where) { check_log_level(level, where); },
    },
    Key{
        .name = "on_event",
        .field = texts<&RuntimePlan::on_event>,
        .example = "[\"/usr/bin/logger\", \"-t\", \"spead\"]",
        .help = "Runs a program, with its arguments, for each event of a stream or sender",
    },
    Key{
        .name = "capabilities",
        .field = choice<&RuntimePlan::capabilities>,
        .terse = true,
        .option = "--capabilities",
        .help = "Keeps after the start the capabilities that the ports need, or all of them",
    },
    Key{
        .name = "lcore_timeout",
        .field = seconds<&RuntimePlan::lcore_timeout>,
        .range = kLcoreTimeout,
        .zero = true,
        .off_word = true,
        .unset = "`\"30s\"`; off under systemd's watchdog",
        .option = "--lcore-timeout",
        .help = "Ends the run when an lcore has not answered for this long; off = never",
    },
    Key{
        .name = "metrics",
        .field = text<&RuntimePlan::metrics>,
        .unset = "off",
        .example = "\"127.0.0.1:9100\"",
        .option = "--metrics",
        .word = "[ADDRESS:]PORT",
        .help = "Serves metrics and the API at [ADDRESS:]PORT; without ADDRESS on 127.0.0.1",
    },
    Key{
        .name = "api_token_file",
        .field = text<&RuntimePlan::api_token_file>,
        .unset = "none: the API only shows",
        .example = "\"/etc/dpdk-spead/api-token\"",
        .option = "--api-token-file",
        .word = "FILE",
        .help = "Allows changes through the API to clients that show the token in this file",
    },
};

constexpr std::array kMemoryKeys{
    Key{
        .name = "heaps",
        .field = size<&MemoryPlan::heaps>,
        .range = kMemoryHeaps,
        .option = "--memory",
        .help = "Reserves memory for the heaps of all streams",
    },
};

constexpr std::array kEndKeys{
    Key{
        .name = "heaps",
        .field = integer<&EndPlan::heaps>,
        .range = {0, INT64_MAX},
        .option = "--heaps",
        .help = "Ends the run after this many heaps of all streams together; 0 = no limit",
    },
    Key{
        .name = "duration",
        .field = seconds<&EndPlan::duration>,
        .range = kTime,
        .off_word = true,
        .change = Change::immediate,
        .option = "--duration",
        .help = "Ends the run after this time",
    },
    Key{
        .name = "idle_exit",
        .field = seconds<&EndPlan::idle_exit>,
        .range = kTime,
        .off_word = true,
        .change = Change::immediate,
        .option = "--idle-exit",
        .help = "Ends the run after this time without a packet, once one has come",
    },
    Key{
        .name = "exit_on_stop",
        .field = flag<&EndPlan::exit_on_stop>,
        .change = Change::immediate,
        .option = "--exit-on-stop",
        .help = "Ends the run when every endpoint has had a stop item",
    },
};

}  // namespace

std::span<const Key> runtime() {
    return kRuntimeKeys;
}

std::span<const Key> memory() {
    return kMemoryKeys;
}

std::span<const Key> end() {
    return kEndKeys;
}

}  // namespace spead::config::keys
