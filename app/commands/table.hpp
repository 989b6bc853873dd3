// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string_view>

#include "app/commands/command.hpp"

/// Lists every command of the program, one file each beside this one.
namespace spead::app::commands {

CommandEntry recv();
CommandEntry send();
CommandEntry loopback();
CommandEntry capture();
CommandEntry replay();
CommandEntry run();
CommandEntry info();
CommandEntry plan();
CommandEntry check();
CommandEntry selftest();
CommandEntry top();
CommandEntry attach();
CommandEntry bench_assemble();
CommandEntry bench_chunks();
CommandEntry bench_distribute();
CommandEntry bench_transmit();
CommandEntry bench_gpu();
CommandEntry bench_link();
CommandEntry bench_latency();

/// Returns all of them, in the order of the help.
std::span<const CommandEntry> table();

/// Names the group of the benchmarks: its commands are typed `bench NAME`.
inline constexpr std::string_view kBenchGroup = "bench";
inline constexpr std::string_view kBenchDescription = "Measure one core, or a link";

}  // namespace spead::app::commands
