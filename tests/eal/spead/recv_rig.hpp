// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/endpoint.hpp"
#include "runtime/sink.hpp"
#include "spead/heap_loan.hpp"
#include "spead/session.hpp"
#include "tests/support/refusal.hpp"

/// Makes streams as a user of the library receives them, over a ring in this process.
namespace spead::test {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr const char* kRing = "net_ring0";

/// Returns the same for every test, as EAL starts once.
inline ProcessConfig config() {
    ProcessConfig c;
    const std::vector<unsigned> cpus = runtime::allowed_cpus();
    c.main_cpu = cpus.front();
    c.lcores = {cpus.front(), cpus.back()};
    if (cpus.size() == 1)
        c.lcores.resize(1);
    return c;
}
inline unsigned cpu_of(std::size_t lcore) {
    const std::vector<unsigned> lcores = config().lcores;
    return lcores[lcore % lcores.size()];
}

struct SenderPlan {
    std::string endpoints = "239.1.2.3:7148";
    std::int64_t heaps = -1;
    std::uint64_t heap_size = 8000;
    double rate = 0;
    bool copies = false;  ///< receivers may keep its packets: no heap waits for them
};

/// Sends generated heaps whose content can be checked.
class TestSender {
  public:
    explicit TestSender(const SenderPlan& of, const std::string& port = kRing)
        : session_(door::Session::current()) {
        runtime::SendPlan s;
        s.endpoints = parse_endpoints(of.endpoints);
        s.endpoint_texts = {of.endpoints};
        s.heap_size = of.heap_size;
        s.heaps = of.heaps;
        s.rate = of.rate;
        s.verify = true;
        if (of.copies)
            s.zero_copy = runtime::ZeroCopySetting::never;
        name_ = session_->add(s, port, {});
    }
    ~TestSender() { session_->remove_sender(name_); }
    TestSender(const TestSender&) = delete;
    TestSender& operator=(const TestSender&) = delete;

  private:
    std::shared_ptr<door::Session> session_;
    std::string name_;
};

inline RecvConfig ring_config() {
    RecvConfig c;
    c.endpoints = {"239.1.2.3:7148"};
    c.interface = kRing;
    c.memory = 4 * kMiB;
    c.max_heap_bytes = 64 << 10;
    c.buffer_size = kMiB;
    return c;
}

inline void expect_right(const std::vector<Heap>& heaps) {
    runtime::VerifySink verify("test");
    std::uint64_t complete = 0;
    for (const Heap& heap : heaps)
        if (heap.complete()) {
            verify.consume(door::heap_of(heap));
            complete++;
        }
    verify.show_compared();
    EXPECT_EQ(verify.wrong(), 0U);
    EXPECT_EQ(verify.verified(), complete);
}

inline void expect_sums(const RecvStats& s) {
    EXPECT_EQ(s.packets, s.packets_placed + s.packets_duplicate + s.packets_late + s.packets_no_memory +
                             s.packets_filtered + s.packets_held + s.packets_control + s.packets_stopped +
                             s.packets_captured + s.packets_rejected);
    EXPECT_EQ(s.heaps + s.heaps_incomplete,
              s.heaps_taken + s.heaps_waiting + s.heaps_dropped + s.heaps_abandoned);
}

}  // namespace spead::test
