// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/lcore_crew.hpp"

#include <algorithm>
#include <atomic>
#include <sched.h>
#include <set>

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_pause.h>

#include "base/error.hpp"
#include "runtime/eal.hpp"

namespace spead::app {

namespace {

/// Is what the lcores of a crew share while they work.
struct Shift {
    const LcoreCrew& crew;
    const LcoreCrew::Work& work;
    std::atomic<unsigned> arrived{0};
    std::atomic<unsigned> left{0};  ///< lcores that have not returned
    std::atomic<bool> off{false};   ///< not all could be started
};

struct Place {
    Shift* shift = nullptr;
    unsigned number = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

/// Works on a worker lcore, from the moment on that all have arrived.
int work_at(void* place) {
    Place& p = *static_cast<Place*>(place);
    Shift& shift = *p.shift;
    shift.arrived.fetch_add(1, std::memory_order_acq_rel);
    while (shift.arrived.load(std::memory_order_acquire) < shift.crew.lcores() &&
           !shift.off.load(std::memory_order_acquire))
        shift.crew.pause();
    if (!shift.off.load(std::memory_order_acquire)) {
        p.begin = rte_rdtsc_precise();
        p.end = shift.work(p.number);
    }
    shift.left.fetch_sub(1, std::memory_order_acq_rel);
    shift.left.notify_one();
    return 0;
}

}  // namespace

LcoreCrew::LcoreCrew(unsigned lcores, Where where) : lcores_(lcores) {
    if (where == Where::here)
        return;
    workers_ = runtime::Eal::worker_lcores();
    if (workers_.size() < lcores)
        throw_usage("--lcores",
                    "{} lcores were asked for, and EAL has {} beside its main lcore; leave out its options "
                    "-l, -c and --lcores, or give more lcores there",
                    lcores, workers_.size());
    workers_.resize(lcores);
    const std::vector<unsigned> cpus = runtime::Eal::cpus().workers;
    const auto end = cpus.begin() + static_cast<std::ptrdiff_t>(lcores);
    cpus_ = static_cast<unsigned>(std::set<unsigned>(cpus.begin(), end).size());
}

std::uint64_t LcoreCrew::run(const Work& work) {
    if (workers_.empty()) {
        const std::uint64_t begin = rte_rdtsc_precise();
        return work(0) - begin;
    }
    Shift shift{*this, work};
    std::vector<Place> places(lcores_);
    int error = 0;
    for (unsigned k = 0; k < lcores_ && error == 0; k++) {
        places[k] = {&shift, k};
        shift.left.fetch_add(1, std::memory_order_acq_rel);
        error = rte_eal_remote_launch(&work_at, &places[k], workers_[k]);
        if (error != 0)
            shift.left.fetch_sub(1, std::memory_order_acq_rel);
    }
    if (error != 0)
        shift.off.store(true, std::memory_order_release);
    // rte_eal_wait_lcore() spins, on a CPU that a worker may need.
    for (unsigned left = 0; (left = shift.left.load(std::memory_order_acquire)) != 0;)
        shift.left.wait(left, std::memory_order_acquire);
    for (const unsigned lcore : workers_) {
        while (rte_eal_get_lcore_state(lcore) == RUNNING)
            sched_yield();
        rte_eal_wait_lcore(lcore);
    }
    if (error != 0)
        throw_error("bench", "EAL does not start work on an lcore: error {}", -error);
    std::uint64_t begin = UINT64_MAX;
    std::uint64_t end = 0;
    for (const Place& p : places) {
        begin = std::min(begin, p.begin);
        end = std::max(end, p.end);
    }
    return end - begin;
}

unsigned LcoreCrew::cpu_of(unsigned number) const {
    const runtime::Eal::Cpus cpus = runtime::Eal::cpus();
    return workers_.empty() ? cpus.main : cpus.workers[number];
}

std::vector<unsigned> LcoreCrew::all_cpus() const {
    std::vector<unsigned> cpus;
    for (unsigned k = 0; k < lcores_; k++)
        cpus.push_back(cpu_of(k));
    return cpus;
}

void LcoreCrew::pause() const noexcept {
    if (shares_cpus())
        sched_yield();
    else
        rte_pause();
}

std::string crew_lcores(const std::vector<unsigned>& cpus, unsigned first, unsigned workers) {
    const auto found = std::find(cpus.begin(), cpus.end(), first);
    const std::size_t from =
        found == cpus.end() ? cpus.size() - 1 : static_cast<std::size_t>(found - cpus.begin());
    std::string all = fmt::format("0@{}", cpus.front());
    for (unsigned k = 0; k < workers; k++)
        all += fmt::format(",{}@{}", k + 1, cpus[(from + cpus.size() - k % cpus.size()) % cpus.size()]);
    return all;
}

}  // namespace spead::app
