// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "port/impaired_queue.hpp"
#include "runtime/heap_generator.hpp"
#include "runtime/next_hops.hpp"
#include "runtime/payload_registration.hpp"
#include "runtime/plan.hpp"
#include "runtime/send_health.hpp"
#include "send/sender.hpp"
#include "stats/counters.hpp"

namespace spead::runtime {

struct Worker;

struct SendStream {
    std::uint32_t number = 0;  ///< no other sender of the run has it
    SendPlan plan;             ///< as it is carried out
    std::unique_ptr<send::Sender> sender;
    std::unique_ptr<HeapSource> heap_source;
    std::unique_ptr<PayloadRegistration> registration;  ///< of what it sends from; null where ports copy
    std::unique_ptr<port::ImpairedQueue> impaired;      ///< through which it sends; usually null
    Worker* worker = nullptr;
    std::size_t port = 0;
    std::uint16_t queue = 0;     ///< of the port; other senders of the lcore may share it
    stats::SendCounters counts;  ///< when its lcore last answered
    bool stuck = false;          ///< likewise
    SendHealth health;
    std::vector<NextHop> hops;
    std::size_t next_hop = 0;            ///< whose turn it is to be looked for
    send::Cut cut = send::Cut::nothing;  ///< heaps were given up so that the run can end
    std::uint64_t unfinished = 0;        ///< how many, then

    /// Nothing of its packets is held back any more; what is, is to go now. Any thread.
    bool let_go_of_packets() noexcept;
};

/// Returns how messages name the sender: "send NAME".
std::string where_of(const SendPlan& s);

}  // namespace spead::runtime
