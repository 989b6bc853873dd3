// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "drivers/table.hpp"
#include "runtime/engine.hpp"
#include "tests/eal/port/port_rig.hpp"

/// Plans and engines on the lcores that this test process has.
namespace spead::runtime::test {

constexpr std::size_t kMiB = std::size_t{1} << 20;

using port::test::Directory;
using port::test::error_of;

inline ReceivePlan receive(const std::string& name, const std::string& endpoints,
                           const std::string& port = "p0") {
    ReceivePlan r;
    r.name = name;
    r.port = port;
    r.endpoints = parse_endpoints(endpoints);
    r.endpoint_texts = {endpoints};
    r.max_bytes = kMiB;
    r.buffer_size = kMiB;
    r.sink.kind = SinkKind::verify;
    return r;
}

inline SendPlan send(const std::string& name, const std::string& endpoints, std::int64_t heaps,
                     const std::string& port = "p0") {
    SendPlan s;
    s.name = name;
    s.port = port;
    s.endpoints = parse_endpoints(endpoints);
    s.endpoint_texts = {endpoints};
    s.heap_size = 20'000;
    s.heaps = heaps;
    s.verify = true;
    return s;
}

/// Makes a plan of a sender and a receiver on one ring, in one process.
inline Plan loopback(std::int64_t heaps, const std::string& endpoints = "239.1.2.3:7148") {
    Plan plan;
    plan.memory.heaps = 16 * kMiB;
    plan.ports = {{"p0", "net_ring0", 0}};
    plan.receives = {receive("s0", endpoints)};
    plan.sends = {send("d0", endpoints, heaps)};
    return plan;
}

/// Lays out a plan on the lcores that eal_main.cpp chose, as EAL runs already.
inline Layout layout_of(const Plan& plan) {
    const EalOptions options = EalOptions::parse({"--lcores=eal_main's"});
    Layout layout = lay_out(plan, options, drivers::table());
    use_lcores_of_eal(layout, options);
    return layout;
}

/// Lays out a plan on the lcores of this process. The plan's CPU numbers are kept apart, each on an lcore of
/// its own.
inline Layout layout_on_cpus(const Plan& plan,
                             std::span<const port::Driver* const> drivers = drivers::table()) {
    const EalOptions options = EalOptions::parse({"--lcores=eal_main's"});
    Layout layout = lay_out(plan, options, drivers);
    unsigned lcore = 1;
    for (WorkerLayout& w : layout.workers)
        w.lcore = lcore++;
    layout.shares_cpus = true;
    return layout;
}

/// Does as layout_of() does, but with an lcore of their own for the senders.
inline Layout layout_on_two_lcores(const Plan& plan) {
    Layout layout = layout_of(plan);
    EXPECT_EQ(layout.workers.size(), 1U);
    WorkerLayout sender;
    sender.lcore = layout.workers[0].lcore == 1 ? 2 : 1;
    std::swap(sender.sends, layout.workers[0].sends);
    layout.workers.push_back(sender);
    return layout;
}

/// Interrupts run().
class Interrupt {
  public:
    Interrupt() : fd_(eventfd(0, EFD_CLOEXEC)) {}
    ~Interrupt() { ::close(fd_); }
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    int fd() const { return fd_; }
    void now() const { EXPECT_EQ(eventfd_write(fd_, 1), 0); }

  private:
    int fd_;
};

inline void expect_identities(const stats::Snapshot& s) {
    for (const std::string& broken : stats::broken_identities(s))
        ADD_FAILURE() << broken;
}

struct Ended {
    Engine::Reason reason{};
    stats::Snapshot last;
    std::vector<std::string> problems;
    std::vector<std::string> remarks;
    int ticks = 0;

    const stats::StreamSnapshot& stream(std::size_t i = 0) const { return last.streams[i]; }
    const stats::SendSnapshot& sent(std::size_t i = 0) const { return last.sends[i]; }
    std::uint64_t complete(std::size_t i = 0) const {
        return last.streams[i].heaps_ended[static_cast<std::size_t>(HeapEnd::complete)];
    }
    std::uint64_t packets(PacketOutcome o, std::size_t i = 0) const {
        return last.streams[i].packets[static_cast<std::size_t>(o)];
    }
};

/// Makes a whole run, as the program does. Every snapshot must add up, and no counter may go back.
inline Ended run(const Plan& plan, const Layout& layout, int interrupt_fd = -1,
                 const std::function<void(const stats::Snapshot&)>& tick = {},
                 const EngineHooks& hooks = {}) {
    Ended e;
    Engine engine(plan, layout, hooks);
    engine.start();
    stats::Snapshot before;
    e.reason = engine.run(interrupt_fd, [&](const stats::Snapshot& s) {
        e.ticks++;
        expect_identities(s);
        for (std::size_t i = 0; i < before.streams.size(); i++) {
            EXPECT_GE(s.streams[i].received, before.streams[i].received);
            EXPECT_GE(s.streams[i].heaps_delivered, before.streams[i].heaps_delivered);
        }
        for (std::size_t i = 0; i < before.sends.size(); i++) {
            EXPECT_GE(s.sends[i].counters.heaps, before.sends[i].counters.heaps);
            EXPECT_GE(s.sends[i].control_heaps, before.sends[i].control_heaps);
        }
        before = s;
        if (tick)
            tick(s);
    });
    expect_identities(engine.snapshot());
    engine.stop();
    e.last = engine.snapshot();
    e.problems = engine.problems();
    e.remarks = engine.remarks();
    expect_identities(e.last);
    return e;
}
inline Ended run(const Plan& plan) {
    return run(plan, layout_of(plan));
}
inline Ended run(const Plan& plan, const EngineHooks& hooks) {
    return run(plan, layout_of(plan), -1, {}, hooks);
}

}  // namespace spead::runtime::test
