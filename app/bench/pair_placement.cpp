// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/pair_placement.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"

namespace spead::app {

namespace {

/// Holds the CPUs of a pair without sharing: one for each lcore, and one for each end's other threads.
constexpr std::size_t kEnough = 4;

std::vector<unsigned> numbers(const std::vector<BenchCpu>& cpus) {
    std::vector<unsigned> numbers;
    for (const BenchCpu& c : cpus)
        numbers.push_back(c.cpu);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

unsigned core_of(const std::vector<BenchCpu>& cpus, unsigned cpu) {
    const auto found =
        std::find_if(cpus.begin(), cpus.end(), [cpu](const BenchCpu& c) { return c.cpu == cpu; });
    return found == cpus.end() ? cpu : found->core;
}

/// Returns the last CPU that is on another core than `taken`, or else the last other CPU, or else `taken`.
unsigned other_lcore(const std::vector<BenchCpu>& cpus, unsigned taken) {
    const unsigned core = core_of(cpus, taken);
    for (auto c = cpus.rbegin(); c != cpus.rend(); ++c)
        if (c->core != core)
            return c->cpu;
    for (auto c = cpus.rbegin(); c != cpus.rend(); ++c)
        if (c->cpu != taken)
            return c->cpu;
    return taken;
}

/// Places an end on CPUs of its own: the lcore on the last core, whose other threads stay idle if there is
/// another core.
EndPlacement end_on(const std::vector<BenchCpu>& cpus) {
    const BenchCpu lcore = cpus.back();
    std::vector<BenchCpu> own;
    std::copy_if(cpus.begin(), cpus.end(), std::back_inserter(own),
                 [&](const BenchCpu& c) { return c.core != lcore.core; });
    if (own.empty())
        return {lcore.cpu, numbers(cpus)};
    own.push_back(lcore);
    return {lcore.cpu, numbers(own)};
}

std::string reason_of(const std::vector<BenchCpu>& cpus, const PairPlacement& p, bool named) {
    if (cpus.size() < kEnough)
        return fmt::format(
            "Threads share CPUs: {} {} fewer than {}, one for each lcore and one for each end's other "
            "threads.",
            counted(cpus.size(), "CPUs"), word_for(cpus.size(), "is", "are"), kEnough);
    if (p.near.lcore == p.far.lcore)
        return fmt::format("Both lcores share CPU {}, which the options name.", p.near.lcore);
    if (named)
        return "The ends share the CPUs without lcores, because the options name lcores.";
    std::set<unsigned> lcores{core_of(cpus, p.near.lcore), core_of(cpus, p.far.lcore)};
    for (const EndPlacement* const end : {&p.near, &p.far})
        for (const unsigned cpu : end->others())
            if (lcores.contains(core_of(cpus, cpu)))
                return "Lcores share cores with other threads: there are too few cores, each with several "
                       "CPUs.";
    return {};
}

/// Returns how many of the CPUs the near end has: up to where a core begins, as near to the half as possible,
/// with two CPUs or more on either side. There are kEnough.
std::size_t split_of(const std::vector<BenchCpu>& cpus) {
    const std::size_t half = (cpus.size() + 1) / 2;
    const auto core_begins = [&cpus](std::size_t at) {
        return at >= 2 && at + 2 <= cpus.size() && cpus[at - 1].core != cpus[at].core;
    };
    for (std::size_t away = 0; away < half; away++) {
        if (core_begins(half + away))
            return half + away;
        if (core_begins(half - away))
            return half - away;
    }
    return half;
}

}  // namespace

std::vector<BenchCpu> bench_cpus(const port::Sysfs& files, const std::vector<unsigned>& cpus) {
    std::vector<BenchCpu> found;
    for (const unsigned cpu : cpus) {
        const std::set<unsigned> siblings =
            files.cpus(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
        found.push_back({cpu, siblings.contains(cpu) ? *siblings.begin() : cpu});
    }
    return found;
}

std::vector<unsigned> EndPlacement::others() const {
    std::vector<unsigned> others = cpus;
    std::erase(others, lcore);
    return others.empty() ? cpus : others;
}

std::string PairPlacement::text() const {
    const auto end = [](const char* name, const EndPlacement& e) {
        const std::vector<unsigned> others = e.others();
        return fmt::format("{}: lcore on CPU {}, other threads on CPU{} {}.", name, e.lcore,
                           others.size() == 1 ? "" : "s", fmt::join(others, ","));
    };
    return fmt::format("{} {}{}{}", end("Near end", near), end("Far end", far), reason.empty() ? "" : " ",
                       reason);
}

std::string PairPlacement::warning(runtime::PollMode poll, bool near_too) const {
    if (poll != runtime::PollMode::busy)
        return {};
    const auto runs_others = [&](const EndPlacement& end, const EndPlacement& other) {
        // Threads that have other CPUs, too, move there.
        const auto only = [&](const EndPlacement& e) {
            return e.others() == std::vector<unsigned>{end.lcore};
        };
        return other.lcore == end.lcore || only(end) || only(other);
    };
    std::vector<unsigned> shared;
    if (near_too && runs_others(near, far))
        shared.push_back(near.lcore);
    if (runs_others(far, near) && (shared.empty() || shared.front() != far.lcore))
        shared.push_back(far.lcore);
    if (shared.empty())
        return {};
    std::sort(shared.begin(), shared.end());
    return fmt::format(
        "--poll busy: an lcore never pauses on {} {}, where other threads of this benchmark must run, so "
        "results are far too low; allow {} CPUs, or use --poll adaptive",
        noun_for(shared.size(), "CPUs"), fmt::join(shared, " and "), kEnough);
}

PairPlacement place_pair(std::vector<BenchCpu> cpus, std::optional<unsigned> tx_lcore,
                         std::optional<unsigned> rx_lcore) {
    // CPUs of a core are neighbours, so that no core is halved if there are enough.
    std::sort(cpus.begin(), cpus.end(), [](const BenchCpu& a, const BenchCpu& b) {
        return std::pair(a.core, a.cpu) < std::pair(b.core, b.cpu);
    });
    const bool named = tx_lcore || rx_lcore;
    PairPlacement p;
    if (!named && cpus.size() == 2) {
        p.near = {cpus.front().cpu, {cpus.front().cpu}};
        p.far = {cpus.back().cpu, {cpus.back().cpu}};
    } else if (!named && cpus.size() >= kEnough) {
        const auto middle = cpus.begin() + static_cast<std::ptrdiff_t>(split_of(cpus));
        p.near = end_on({cpus.begin(), middle});
        p.far = end_on({middle, cpus.end()});
    } else {
        p.near.cpus = p.far.cpus = numbers(cpus);
        p.near.lcore = tx_lcore.value_or(rx_lcore ? other_lcore(cpus, *rx_lcore) : cpus.back().cpu);
        p.far.lcore = rx_lcore.value_or(other_lcore(cpus, p.near.lcore));
        if (!named && cpus.size() == 3) {
            // The third one is for the other threads of both.
            std::erase(p.near.cpus, p.far.lcore);
            std::erase(p.far.cpus, p.near.lcore);
        }
    }
    p.reason = reason_of(cpus, p, named);
    return p;
}

}  // namespace spead::app
