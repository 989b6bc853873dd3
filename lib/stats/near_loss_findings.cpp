// SPDX-License-Identifier: BSD-3-Clause
#include "stats/near_loss_findings.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/counted.hpp"
#include "base/units.hpp"
#include "stats/rates.hpp"
#include "stats/stream_cures.hpp"

namespace spead::stats {

namespace {

constexpr double kNanoseconds = 1e9;

}  // namespace

std::string time_off(double seconds) {
    return seconds < 1 ? fmt::format("{:.3g} ms", seconds * 1000) : fmt::format("{:.1f} s", seconds);
}

Cures keep_on_cpu(const LcoreSnapshot* lcore, const PortSnapshot& port, double longest_s,
                  const Advice& advice) {
    Cures cures;
    const RunSettings& run = advice.snapshot().settings;
    if (longest_s >= kStopped)
        cures.push_back(
            "was the program stopped (SIGSTOP, a debugger), or the machine suspended? If not, other "
            "programs took its CPU");
    if (lcore == nullptr || run.allowed_cpus.empty())
        return with(std::move(cures), "give the lcore a CPU of its own (isolcpus, no other work there)");
    cures.push_back(
        fmt::format("see which programs run on CPU {0}: `ps -eLo psr,pcpu,pid,comm --sort=-pcpu | "
                    "awk '$1 == {0}'`",
                    lcore->cpu));
    if (const std::vector<unsigned> rest = cpus_without_lcores(advice.snapshot()); !rest.empty())
        cures.push_back(fmt::format(
            "move them away: `taskset -acp {} PID`, with the PID of each that is neither this program nor a "
            "part of the kernel",
            cpus_text(rest)));
    if (!run.idle_cpus.empty())
        cures.push_back(advice.other_cpu(*lcore, port, false));
    cures.push_back(
        fmt::format("give the lcore a CPU of its own for good: boot with `isolcpus={}`", lcore->cpu));
    std::erase(cures, std::string());
    return cures;
}

std::vector<Finding> near_loss_findings(const LcoreSnapshot& l, const Advice& advice) {
    const PortSnapshot* port = nullptr;
    for (const LcoreSnapshot::Received& r : l.ports)
        if (port == nullptr)
            port = find(advice.snapshot().ports, r.name);
    if (l.held_up.times == 0 || port == nullptr)
        return {};
    const double longest = static_cast<double>(l.held_up.most) / kNanoseconds;
    return {
        {Cause::lcore_held_up, Stage::lcore, l.where(), l.held_up.times, "times",
         fmt::format("it did not run for up to {}, because other work had its CPU; nothing was lost yet{}",
                     time_off(longest),
                     l.held_up.of <= l.held_up.most
                         ? std::string()
                         : fmt::format(": its receive queue fills in {} at the present rate",
                                       time_off(static_cast<double>(l.held_up.of) / kNanoseconds))),
         keep_on_cpu(&l, *port, longest, advice)}};
}

std::vector<Finding> near_loss_findings(const StreamSnapshot& s, const Advice& advice) {
    std::vector<Finding> all;
    if (s.queue_near.times != 0)
        all.push_back(
            {Cause::queue_nearly_full, Stage::consumer, s.name, s.queue_near.times, "times",
             fmt::format("up to {} of {} of the hand-over queue {} taken: no heap was lost yet, but "
                         "the consumer{} hardly keeps up",
                         s.queue_near.most, counted(s.queue_near.of, "places"),
                         word_for(s.queue_near.most, "was", "were"), where_it_writes(s)),
             longer_queue(s, advice)});
    if (s.pool_near.times != 0)
        all.push_back(
            {Cause::pool_nearly_full, Stage::memory, s.name, s.pool_near.times, "times",
             fmt::format("up to {} of the {} of its heap memory were in use: no packet was lost yet",
                         human_size(s.pool_near.most), human_size(s.pool_near.of)),
             with(advice.raise_memory(s), faster_consumer(s, advice))});
    return all;
}

}  // namespace spead::stats
