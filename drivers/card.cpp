// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/card.hpp"

#include <algorithm>

#include "drivers/common.hpp"

namespace spead::drivers {

port::QueueSizes card_rx_queue(std::uint32_t descriptors, std::uint32_t frame) {
    // The lcore's bursts need theirs besides.
    return port::queue_sizes(static_cast<std::uint16_t>(descriptors),
                             descriptors + port::copying_rx_mbufs(1, kPoolCache), port::data_room_of(frame),
                             kPoolCache);
}

void plan_card_queues(const port::PortRequest& request, std::uint32_t mtu, std::uint32_t most_descriptors,
                      port::PreparedDevice& plan) {
    plan.pci = true;
    plan.eal_mtu = mtu;
    const std::uint32_t frame = mtu + port::kEthernetHeader + port::kVlanTags;
    plan.capabilities.max_rx_frame = plan.capabilities.max_tx_frame = plan.capabilities.link_frame = frame;
    count_pools(plan, request);
    if (request.rx_queues > 0) {
        const std::uint32_t expected =
            std::max(std::min(port::rx_frame_of(request.max_rx_packet), frame), 64U);
        plan.rx = card_rx_queue(
            port::slots_for(request.buffer_size, expected, kLeastCardDescriptors, most_descriptors), frame);
    }
    if (request.tx_queues > 0) {
        plan.tx = port::queue_sizes(kCardTxDescriptors, kCardTxDescriptors + 1024U,
                                    port::data_room_of(tx_frame(request)), kPoolCache);
    }
}

void check_lockable(const port::Machine& machine, const port::PortRequest& request,
                    const port::PreparedDevice& plan) {
    const std::uint64_t needed = plan.eal_bytes();
    if (const std::uint64_t lockable = machine.lockable(); lockable < needed) {
        throw_error(
            port::where(request),
            "{} reaches {} bytes of packet buffers, which are locked in memory, and `ulimit -l` allows "
            "{}: run `ulimit -l unlimited` (LimitMEMLOCK=infinity for systemd), or give the program "
            "CAP_IPC_LOCK",
            plan.name, needed, lockable);
    }
}

}  // namespace spead::drivers
