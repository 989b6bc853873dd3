// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "port/impaired_queue.hpp"
#include "runtime/heap_generator.hpp"
#include "runtime/lockstep.hpp"
#include "runtime/next_hops.hpp"
#include "runtime/payload_registration.hpp"
#include "runtime/plan.hpp"
#include "runtime/send_health.hpp"
#include "send/sender.hpp"
#include "stats/counters.hpp"

namespace spead::runtime {

struct Worker;

/// Holds a sender of the run with its heap source, its lcore and its port.
struct SendStream {
    std::uint32_t number = 0;  ///< unique in the run
    SendPlan plan;             ///< at present
    std::unique_ptr<send::Sender> sender;
    std::atomic<std::uint64_t> left_out{0};  ///< heaps not made, to be in step with the other path's sender
    std::unique_ptr<HeapSource> heap_source;
    std::shared_ptr<Lockstep>
        lockstep;  ///< with the sender of the other path, if there is one; null: a user's heaps
    std::unique_ptr<PayloadRegistration> registration;  ///< of its payload memory; null where ports copy
    std::unique_ptr<port::ImpairedQueue> impaired;      ///< through which it sends; usually null
    Worker* worker = nullptr;
    std::size_t port = 0;
    std::uint16_t queue = 0;     ///< of the port; other senders of the lcore may share it
    stats::SendCounters counts;  ///< when its lcore last answered
    bool stuck = false;          ///< likewise
    SendHealth health;
    NextHops hops;
    IpAddress source;                    ///< address that its packets come from
    send::Cut cut = send::Cut::nothing;  ///< heaps were given up so that the run can end
    std::uint64_t unfinished = 0;        ///< their number

    /// Ends the holding back of packets, and releases the held ones. Any thread.
    bool let_go_of_packets() noexcept;
};

/// Returns how messages name the sender: "send NAME".
std::string where_of(const SendPlan& s);

}  // namespace spead::runtime
