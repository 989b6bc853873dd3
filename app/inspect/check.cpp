// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/check.hpp"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/exit_status.hpp"
#include "app/inspect/check_gpu.hpp"
#include "app/inspect/check_machine.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/tell.hpp"
#include "base/units.hpp"
#include "drivers/table.hpp"
#include "process/kept_privileges.hpp"

namespace spead::app {

namespace {

/// Holds the EAL memory of a run without a plan: a receiving port with the default sizes.
constexpr std::size_t kUsualEalBytes = std::size_t{64} << 20;

/// Returns the CPUs of lcores that copy payload from the start.
std::set<unsigned> copying_cpus(const runtime::Layout& layout, const runtime::Plan& plan) {
    std::set<unsigned> cpus;
    for (const runtime::WorkerLayout& worker : layout.workers)
        for (const std::size_t i : worker.receives)
            if (plan.receives[i].enabled)
                cpus.insert(worker.cpu);
    return cpus;
}

void check_planned(const port::Machine& machine, const runtime::Layout& layout, const runtime::Plan& plan,
                   const AskPauseFrames& pauses, Findings& findings) {
    std::set<unsigned> cpus;
    for (const runtime::WorkerLayout& worker : layout.workers)
        cpus.insert(worker.cpu);
    const bool card = runtime::BusNeeds::of(layout.ports).pci;
    findings.push_back(
        {Verdict::ok,
         "memory",
         fmt::format(
             "{} for heaps, {} for chunks, {} for windows and queues, {} of payload to send, {} for EAL",
             human_size(layout.heap_bytes), human_size(layout.chunk_bytes),
             human_size(layout.bookkeeping_bytes), human_size(layout.send_bytes),
             human_size(layout.eal_bytes)),
         {}});
    findings.push_back(check_huge_pages(machine, layout.eal_memory, card));
    append(findings, check_chunks(machine, layout, plan));
    append(findings, check_gpu(layout, plan));
    if (card)
        findings.push_back(check_memlock(machine, layout.eal_bytes + layout.heap_bytes + layout.send_bytes));
    if (layout.shares_cpus)
        findings.push_back(
            {Verdict::warn,
             "lcores",
             fmt::format("{} share {}; name others, or use a larger machine", layout.workers.size() + 1,
                         counted(layout.allowed_cpus.size(), "CPUs")),
             {}});
    else
        findings.push_back({Verdict::ok,
                            "lcores",
                            fmt::format("{}, each on a CPU of its own", layout.workers.size() + 1),
                            {}});
    const std::vector<std::string> kept = process::privileges_after_start(layout.ports, plan).names();
    findings.push_back(
        {Verdict::ok,
         "after the start",
         fmt::format("{} kept, all other capabilities are given up",
                     kept.empty() ? std::string("none is") : fmt::format("{} are", fmt::join(kept, ", "))),
         {}});
    findings.push_back(check_governor(machine, cpus));
    findings.push_back(check_isolation(machine, cpus));
    if (const std::set<unsigned> copying = copying_cpus(layout, plan); !copying.empty())
        findings.push_back(check_copies(machine, copying));
    for (const port::PlannedPort& port : layout.ports)
        append(findings, check_port(machine, layout, plan, port, pauses));
    append(findings, check_membership(machine, layout, plan));
}

}  // namespace

Findings check_all(const port::Machine& machine, const runtime::Plan& plan,
                   const runtime::EalOptions& options, std::span<const port::Driver* const> drivers,
                   const AskPauseFrames& pauses) {
    Findings findings{check_capabilities(machine)};
    if (plan.ports.empty()) {
        findings.push_back({Verdict::ok, "ports", "no port is named: only the machine is checked", {}});
        findings.push_back(check_huge_pages(machine, {{-1, kUsualEalBytes}}, false));
        findings.push_back(check_memlock(machine, kUsualEalBytes));
        return findings;
    }
    try {
        check_planned(machine, runtime::lay_out(plan, options, drivers, machine), plan, pauses, findings);
    } catch (const Error& error) {
        const bool usage = dynamic_cast<const UsageError*>(&error) != nullptr;
        findings.push_back({Verdict::fail, "plan", error.what(), {}, usage});
        findings.push_back(check_huge_pages(machine, {{-1, kUsualEalBytes}}, false));
    }
    return findings;
}

int check(const CheckOptions& options, const std::vector<std::string>& eal_words) {
    const Findings findings =
        check_all(port::this_machine(), options.plan, runtime::EalOptions::parse(eal_words), drivers::table(),
                  pause_frames);
    if (options.json)
        tell(stdout, "{}\n", findings_document(findings).dump(2));
    else
        tell(stdout, "{}", describe(findings));
    return !any_failed(findings) ? kSuccess : only_usage_failed(findings) ? kUsage : kFailure;
}

}  // namespace spead::app
