// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/split_steps.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <rte_mbuf.h>

#include "app/inspect/test_sender.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "gather/engine.hpp"
#include "gpu/cuda_engine.hpp"
#include "gpu/objects.hpp"
#include "port/port.hpp"

namespace spead::app {

namespace {

constexpr std::uint16_t kMostPieces = 12;  ///< of the longest packets
constexpr auto kSplitPatience = std::chrono::seconds(2);

/// Frees the received packet at the end.
struct Received {
    rte_mbuf* packet;
    ~Received() { rte_pktmbuf_free(packet); }
};

/// Returns the next packet of the port's first queue. Throws Error when none comes.
rte_mbuf* next_packet(const port::Port& port) {
    const auto end = std::chrono::steady_clock::now() + kSplitPatience;
    rte_mbuf* packet = nullptr;
    while (port.rx_queue(0).rx_burst(&packet, 1) == 0) {
        if (std::chrono::steady_clock::now() > end)
            throw_error("", "a packet that was sent did not come back");
        std::this_thread::yield();
    }
    return packet;
}

/// Throws Error unless the packet is cut at the right place, and every byte of its payload came.
void check_packet(const rte_mbuf& packet, std::size_t header_length, std::size_t pieces,
                  gather::Engine& engine) {
    const std::size_t length = header_length + pieces * TestSender::kSegment;
    const std::size_t first = std::min<std::size_t>(length, kTriedSplit);
    if (packet.pkt_len != length || packet.data_len != first)
        throw_error("",
                    "a packet of {} bytes came as {}, and {} of them lie in memory of the CPU; it should be "
                    "{}; report it with the driver's version",
                    length, packet.pkt_len, packet.data_len, first);
    const auto* const data = rte_pktmbuf_mtod(&packet, const std::byte*);
    std::vector<std::byte> payload(data + header_length, data + first);
    for (const rte_mbuf* m = packet.next; m != nullptr; m = m->next) {
        std::vector<std::byte> fetched(m->data_len);
        engine.fetch(rte_pktmbuf_mtod(m, const std::byte*), fetched);
        payload.insert(payload.end(), fetched.begin(), fetched.end());
    }
    const auto wrong =
        std::ranges::count_if(payload, [](std::byte b) { return b != TestSender::kFilledWith; });
    if (wrong != 0)
        throw_error("", "{} of {} bytes of a packet's payload are wrong; report it with the driver's version",
                    wrong, payload.size());
}

/// Sends packets and compares them with those that come back.
std::string send_and_compare(port::Port& port, const Endpoint& destination, gather::Engine& engine) {
    TestSender sender(port, destination);
    /// Takes the mbufs that the driver holds, before the sender goes.
    struct Stop {
        port::Port& port;
        ~Stop() { port.stop(); }
    } const stop{port};
    unsigned compared = 0;
    for (std::uint16_t pieces = 1; pieces <= kMostPieces; pieces++) {
        if (const std::uint16_t n = sender.send(pieces); n != TestSender::kPacketsOfEach)
            throw_error("", "the port took {} of {} packets", n, TestSender::kPacketsOfEach);
        for (std::uint16_t i = 0; i < TestSender::kPacketsOfEach; i++, compared++) {
            const Received received{next_packet(port)};
            check_packet(*received.packet, sender.header_length(), pieces, engine);
        }
    }
    return fmt::format("{} packets came back in two parts, no byte wrong", compared);
}

std::string opened(const port::Port& port, const port::PlannedPort& planned) {
    return fmt::format("{} bytes of each packet with the CPU, the rest in {} of the engine `{}`{}",
                       kTriedSplit,
                       human_size(planned.device.split->device_bytes() * planned.device.rx_pools),
                       planned.payload_engine->name(),
                       port.capabilities().splitting == port::Splitting::card ? ", mapped for the card" : "");
}

}  // namespace

Findings try_split(const port::PlannedPort& planned, const Endpoint& destination) {
    Findings found;
    std::unique_ptr<port::Port> port;
    found.push_back(finding_of("split: memory and queues", [&] {
        port = port::Port::open(planned);
        return opened(*port, planned);
    }));
    if (!port)
        return found;
    found.push_back(finding_of("split: packets", [&] {
        port->start();
        if (!port->capabilities().receives_own)
            return fmt::format(
                "the port has started; `recv --split {} --heap-memory {}` shows the packets of "
                "another host",
                kTriedSplit, planned.payload_engine->name());
        return send_and_compare(*port, destination, *planned.payload_engine);
    }));
    port->close();
    for (const std::string& remark : port->remarks())
        found.push_back({Verdict::warn, "split: remark", remark, {}});
    return found;
}

Findings try_gpu_split(port::PlannedPort planned, const Endpoint& destination, const std::string& library) {
    const Finding engine = finding_of("split: engine", [&] {
        planned.payload_engine =
            std::make_shared<gpu::CudaEngine>(gpu::Context::open(gpu::Driver::load(library)));
        return std::string("started");
    });
    return engine.verdict == Verdict::ok ? try_split(planned, destination) : Findings{engine};
}

}  // namespace spead::app
