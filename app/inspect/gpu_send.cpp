// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/gpu_send.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include <fmt/core.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "base/error.hpp"
#include "gpu/objects.hpp"
#include "gpu/peer_memory.hpp"
#include "gpu/registered.hpp"
#include "memory/mapping.hpp"
#include "port/region_registration.hpp"
#include "send/packetiser.hpp"
#include "send/pools.hpp"
#include "send/sender.hpp"

namespace spead::app {

namespace {

constexpr std::size_t kGpuPayload = std::size_t{1} << 20;  ///< bytes of the GPU's memory that the heap uses
constexpr std::uint32_t kGpuPacket = 1000;
constexpr auto kGpuPatience = std::chrono::seconds(5);

using SentBytes = std::vector<std::byte>;

/// Adds items that lie in parts of the memory, at odd addresses and of odd lengths.
void add_gpu_items(send::OutgoingHeap& heap, std::span<const std::byte> memory) {
    heap.add_item(0x1000, memory.subspan(3, 50));
    heap.add_item(0x1001, memory.subspan(4097, 200'001));
    heap.add_item(0x1002, memory.subspan(300'000, 64));
}

/// Sends from memory of a GPU, and fetches what comes back.
class GpuSender {
  public:
    GpuSender(const port::Port& port, const Endpoint& destination, const std::string& library)
        : port_(port),
          context_(gpu::Context::open(gpu::Driver::load(library))),
          memory_(gpu::PeerMemory::allocate(gpu::Driver::load(library), kGpuPayload)),
          host_(2 * kGpuPayload),
          registered_(context_, host_.base(), host_.length()),
          stream_(context_),
          registration_(memory_.region().base, memory_.region().length, memory::MemoryKind::device) {
        std::minstd_rand random(3);
        std::generate_n(host_.base(), kGpuPayload, [&random] { return static_cast<std::byte>(random()); });
        stream_.upload(memory_.address(), host_.base(), kGpuPayload);
        stream_.finish();
        registration_.map(port);
        regions_.add(memory_.region());
        send::SenderConfig config;
        config.name = "selftest";
        config.port_name = fmt::format("{} ({})", port.name(), port.driver_name());
        config.destinations = {{destination, {}}};
        config.source_mac = port.mac();
        config.source_ip = destination.address.is_v6() ? IpAddress(port.source_address6())
                                                       : IpAddress(port.source_address());
        config.source_port = destination.port;
        config.max_packet_size = kGpuPacket;
        config.capabilities = port.capabilities();
        config.tx_descriptors = port.tx_sizes().descriptors;
        config.queue = port.tx_queue(0);
        config.regions = &regions_;
        net_header_ = send::net_header_of(config);
        sender_ = std::make_unique<send::Sender>(std::move(config));
    }

    /// Sends the heap, and receives its packets if they come back. Returns how many the port has taken.
    std::uint64_t send() {
        add_gpu_items(heap_, memory_.region().bytes());
        sender_->submit({&heap_});
        const auto end = std::chrono::steady_clock::now() + kGpuPatience;
        const std::size_t all = packets_of_host().size();
        const bool comes_back = port_.capabilities().receives_own;
        while (sender_->counters().packets < all || (comes_back && received_.size() < all)) {
            if (std::chrono::steady_clock::now() > end)
                throw_error("", "{} of {} packets were taken, and {} came back", sender_->counters().packets,
                            all, received_.size());
            sender_->poll(rte_rdtsc());
            receive();
        }
        return all;
    }
    /// Throws Error unless every packet is as that of the same heap in the CPU's memory.
    void compare() const {
        const std::vector<SentBytes> expected = packets_of_host();
        for (std::size_t i = 0; i < expected.size(); i++)
            if (received_.size() <= i || received_[i] != expected[i])
                throw_error("", "packet {} of {} is not as it was in the GPU's memory; report it", i,
                            expected.size());
    }
    /// Takes the completion once the port has stopped. Throws Error when the driver still has buffers.
    void finish() {
        sender_->collect(rte_rdtsc());
        std::array<send::Completion, 1> done;
        if (sender_->poll_completions(done) != 1 || sender_->mbufs_out() != 0)
            throw_error("", "the driver still holds {} buffers after the port was stopped",
                        sender_->mbufs_out());
    }

  private:
    /// Returns the payload of the UDP datagrams of the heap, as they are in the CPU's memory.
    std::vector<SentBytes> packets_of_host() const {
        send::OutgoingHeap heap;
        add_gpu_items(heap, {host_.base(), kGpuPayload});
        std::vector<SentBytes> all;
        send::Packetiser walk;
        for (walk.start(heap.layout(kGpuPacket, nullptr), 1); !walk.done();) {
            const send::Packetiser::Packet packet = walk.next();
            SentBytes& bytes = all.emplace_back(packet.header_length);
            walk.write_header(packet, reinterpret_cast<std::uint8_t*>(bytes.data()));
            walk.for_each_piece(packet,
                                [&bytes](const std::byte* data, std::uint32_t length, send::PieceKind) {
                                    bytes.insert(bytes.end(), data, data + length);
                                });
            walk.advance(packet);
        }
        return all;
    }
    void receive() {
        if (!port_.capabilities().receives_own)
            return;
        std::array<rte_mbuf*, 32> mbufs;
        const std::uint16_t n = port_.rx_queue(0).rx_burst(mbufs.data(), mbufs.size());
        /// Frees the packets, whether or not the driver fetches them.
        struct Free {
            std::span<rte_mbuf*> packets;
            ~Free() { rte_pktmbuf_free_bulk(packets.data(), static_cast<unsigned>(packets.size())); }
        } const free{std::span(mbufs).first(n)};
        for (const rte_mbuf* const packet : free.packets) {
            SentBytes frame;
            for (const rte_mbuf* m = packet; m != nullptr; m = m->next)
                append(frame, rte_pktmbuf_mtod(m, const std::byte*), m->data_len);
            const std::size_t headers = std::min(net_header_, frame.size());
            received_.emplace_back(frame.begin() + static_cast<std::ptrdiff_t>(headers), frame.end());
        }
    }
    /// Appends a segment, which the driver fetches if it lies in the GPU's memory.
    void append(SentBytes& frame, const std::byte* data, std::size_t length) {
        const memory::Region there = memory_.region();
        if (data >= there.base && data < there.end()) {
            std::byte* const fetched = host_.base() + kGpuPayload;
            stream_.download(fetched, std::bit_cast<gpu::cuda::DevicePointer>(data), length);
            stream_.finish();
            data = fetched;
        }
        frame.insert(frame.end(), data, data + length);
    }

    const port::Port& port_;
    gpu::ContextPointer context_;
    gpu::PeerMemory memory_;
    memory::Mapping host_;
    gpu::Registered registered_;
    gpu::Stream stream_;
    port::RegionRegistration registration_;
    memory::RegionTable regions_;
    send::OutgoingHeap heap_;
    std::unique_ptr<send::Sender> sender_;
    std::size_t net_header_ = 0;
    std::vector<SentBytes> received_;
};

std::string send_from_gpu(port::Port& port, const Endpoint& destination, const std::string& library) {
    GpuSender sender(port, destination, library);
    struct Stop {
        port::Port& port;
        ~Stop() { port.stop(); }
    };
    std::uint64_t packets = 0;
    {
        // The driver may keep buffers until it stops, and the sender goes after them.
        const Stop stop{port};
        packets = sender.send();
    }
    sender.finish();
    if (!port.capabilities().receives_own)
        return fmt::format("{} packets taken; their receiver shows what the card has read", packets);
    sender.compare();
    return fmt::format("{} packets came back, no byte wrong", packets);
}

}  // namespace

Findings try_gpu_send(port::Port& port, const Endpoint& destination, const std::string& library) {
    const char* const subject = "GPU send";
    if (!port.capabilities().tx_device_memory)
        return {
            {Verdict::ok, subject, "not tried: the driver of this port reads the packets that it sends", {}}};
    Findings found{finding_of(subject, [&] { return send_from_gpu(port, destination, library); })};
    const Finding again = finding_of(subject, [&port] {
        port.stop();
        port.start();
        return std::string("started again");
    });
    if (again.verdict == Verdict::fail)
        found.push_back(again);
    return found;
}

}  // namespace spead::app
