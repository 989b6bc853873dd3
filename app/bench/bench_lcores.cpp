// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_lcores.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/bench/lcore_crew.hpp"
#include "app/exit_status.hpp"
#include "base/file_use.hpp"
#include "base/log.hpp"
#include "base/tell.hpp"
#include "observe/report_file.hpp"
#include "port/machine.hpp"
#include "runtime/numa.hpp"
#include "spead/eal_start.hpp"

namespace spead::app {

int run_on_lcores(const LcoreBench& bench, const BenchOptions& options, const Invocation& invocation) {
    const std::string& json_path = invocation.common.json_path;
    door::EalStart eal(runtime::EalOptions::parse(invocation.eal_args));
    const std::vector<unsigned> cpus = runtime::allowed_cpus();
    const unsigned cpu = options.lcore.value_or(cpus.back());
    const runtime::EalArguments& arguments = eal.prepare(
        {.memory = {{runtime::node_of_cpu(port::this_machine().files, cpu), bench.memory_mib << 20}},
         .lcores = bench.lcores > 1 ? crew_lcores(cpus, cpu, bench.lcores) : fmt::format("0@{}", cpu),
         .name = "dpdk-spead-bench",
         .bus = bench.bus});
    if (invocation.common.check) {
        tell(stdout, "EAL arguments: {}\n", fmt::join(arguments.words, " "));
        return kSuccess;
    }
    const FileUse report = observe::claim_report(json_path, "--json");
    observe::check_writable(json_path);
    const process::StopSignals signals;
    eal.start();
    for (const std::string& remark : arguments.remarks)
        log_notice(LogType::app, "{}", remark);
    return bench.measure(options, json_path, signals);
}

}  // namespace spead::app
