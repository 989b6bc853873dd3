// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/one_lcore.hpp"

#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/exit_status.hpp"
#include "base/file_use.hpp"
#include "base/log.hpp"
#include "base/tell.hpp"
#include "memory/huge_turn.hpp"
#include "observe/report_file.hpp"
#include "port/machine.hpp"
#include "runtime/eal.hpp"
#include "runtime/numa.hpp"

namespace spead::app {

int run_on_one_lcore(const OneLcoreBench& bench, const BenchOptions& options, const Invocation& invocation) {
    const std::string& json_path = invocation.common.json_path;
    const runtime::EalOptions eal_options = runtime::EalOptions::parse(invocation.eal_args);
    const std::vector<unsigned> cpus = runtime::allowed_cpus();
    const unsigned cpu = options.lcore.value_or(cpus.back());
    std::optional<memory::HugePageTurn> turn(std::in_place);
    const runtime::EalArguments arguments = runtime::eal_arguments(
        eal_options,
        {.memory = {{runtime::node_of_cpu(port::this_machine().files, cpu), bench.memory_mib << 20}},
         .lcores = fmt::format("0@{}", cpu),
         .name = "dpdk-spead-bench",
         .bus = bench.bus});
    if (invocation.common.check) {
        tell(stdout, "EAL arguments: {}\n", fmt::join(arguments.words, " "));
        return kSuccess;
    }
    const FileUse report = observe::claim_report(json_path, "--json");
    observe::check_writable(json_path);
    const process::StopSignals signals;
    const runtime::Eal eal(arguments.words);
    turn.reset();
    for (const std::string& remark : arguments.remarks)
        log_notice(LogType::app, "{}", remark);
    return bench.measure(options, json_path, signals);
}

}  // namespace spead::app
