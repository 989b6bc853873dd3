// SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "heap/window.hpp"
#include "memory/arena.hpp"
#include "runtime/layout.hpp"

namespace spead::runtime {

send::SenderConfig sender_config(const SendPlan& plan, const port::PlannedPort& port) {
    send::SenderConfig c;
    c.name = plan.name;
    for (const Endpoint& e : plan.endpoints)
        c.destinations.push_back({e, e.address.is_multicast() ? std::nullopt : plan.dst_mac});
    c.ttl = plan.ttl;
    c.dscp = plan.dscp;
    c.vlan = port.request.vlan;
    c.max_packet_size = packet_size(plan);
    c.pacing.rate = plan.rate;
    c.pacing.burst_size = plan.burst_size;
    c.pacing.burst_rate_ratio = plan.burst_rate_ratio;
    c.max_heaps = plan.max_heaps;
    c.first_cnt = plan.first_count;
    c.cnt_step = plan.count_step;
    switch (plan.zero_copy) {
        case ZeroCopySetting::automatic:
            c.zero_copy = send::ZeroCopy::automatic;
            break;
        case ZeroCopySetting::always:
            c.zero_copy = send::ZeroCopy::always;
            break;
        case ZeroCopySetting::never:
            c.zero_copy = send::ZeroCopy::never;
            break;
    }
    c.udp_checksum = plan.udp_checksum;
    c.capabilities = port.device.capabilities;
    c.port_name = fmt::format("port {} ({})", port.request.name, port.driver->name());
    if (!plan.impair.empty())
        c.no_device_memory = "its packets are impaired on purpose, which copies them; leave out `impair`";
    else if (c.capabilities.receives_own)
        c.no_device_memory = fmt::format(
            "the packets of {} come back to streams of this process, which read them; use a card of net_mlx5",
            c.port_name);
    c.tx_descriptors = port.device.tx.descriptors;
    return c;
}

port::ImpairedQueue::Setup impaired_setup(const SendPlan& plan, const port::PlannedPort& port) {
    port::ImpairedQueue::Setup setup;
    setup.impairments = port::Impairments::parse(plan.impair, "send " + plan.name);
    setup.longest_frame = port::frame_of(payload_in_ipv4(plan)) + port::kVlanTag;
    setup.descriptors = port.device.tx.descriptors;
    return setup;
}

std::size_t send_bytes(const std::vector<SendPlan>& sends) {
    constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max();
    std::size_t sum = 0;
    for (const SendPlan& s : sends) {
        const std::size_t heaps = std::size_t{s.max_heaps} + 1;
        if (s.heap_size > (kMost - sum) / heaps)
            throw_error(fmt::format("send {}", s.name),
                        "its heaps in flight need {} ((`max_heaps` {} + 1) x {}) and those of the senders "
                        "before it {}, more than a process can map; lower `max_heaps` (--max-heaps) or "
                        "`heap_size` (--heap-size)",
                        s.heap_size > kMost / heaps ? "more than 8192 PiB" : human_size(heaps * s.heap_size),
                        s.max_heaps, human_size(s.heap_size), human_size(sum));
        sum += heaps * s.heap_size;
    }
    return sum;
}

std::size_t bookkeeping_bytes(const ReceivePlan& plan) {
    if (plan.chunk && !plan.chunk->by_callback && plan.chunk->parsed().way == chunk::Way::direct)
        return 0;
    heap::WindowConfig window;
    window.substreams = plan.substreams;
    window.max_live = plan.max_live;
    window.history = plan.history;
    window.guarded = true;
    window.copying = ended_in_batches(plan);
    // Ended heaps of chunks wait in no queue.
    return heap::Window::bookkeeping_bytes(window, plan.chunk ? 1 : plan.queue_depth);
}

ChunkBytes chunk_bytes(const ReceivePlan& plan) {
    // A user's chunks are there already.
    if (!plan.chunk || plan.chunk->by_callback || plan.sink.kind == SinkKind::user)
        return {};
    const chunk::Layout layout = plan.chunk->parsed().check();
    // The ring has a byte for each part, and a share for each lcore.
    const std::size_t each = layout.present_bytes() + layout.heaps * layout.extra_bytes +
                             layout.heaps * layout.most_parts +
                             chunk::kMaxMembers * sizeof(chunk::Chunk::Share) + sizeof(chunk::Chunk);
    // Payload in a GPU takes nothing of the machine's.
    const std::size_t payload = plan.engine == HeapEngine::cuda ? 0 : memory_of_chunk(layout);
    return {payload * plan.chunk->chunks, each * plan.chunk->chunks};
}

std::size_t memory_of_chunk(const chunk::Layout& layout) {
    constexpr std::size_t kPage = 4096;
    return (layout.bytes + kPage - 1) / kPage * kPage;
}

std::size_t own_heap_bytes(const ReceivePlan& plan) {
    const std::uint64_t own = plan.own_memory();
    return own == 0 || plan.chunk ? 0 : memory::Arena::capacity_for(own, plan.max_bytes);
}

std::size_t own_host_bytes(const ReceivePlan& plan) {
    return plan.engine == HeapEngine::cuda ? 0 : own_heap_bytes(plan);
}

}  // namespace spead::runtime
