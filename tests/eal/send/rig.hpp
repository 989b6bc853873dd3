// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include "base/error.hpp"
#include "send/sender.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/send/support.hpp"

/// Provides the parts that the EAL tests of the sender share.
namespace spead::send::test {

using spead::test::error_of;

constexpr auto kSent = SendStatus::sent;
constexpr std::uint64_t kTimeout = 1'000'000;
/// Holds the time of senders whose clock returns it.
inline std::uint64_t clock_now = 0;

/// Copies a frame as it came out of the sender.
struct Frame {
    Bytes bytes;
    std::uint16_t segments = 0;
    std::uint64_t flags = 0;
    bool external = false;  ///< a segment is an external buffer

    std::size_t net_length() const { return bytes.at(12) == 0x81 ? 46 : 42; }
    Bytes payload() const { return {bytes.begin() + static_cast<std::ptrdiff_t>(net_length()), bytes.end()}; }
    const rte_ipv4_hdr& ip() const {
        return *reinterpret_cast<const rte_ipv4_hdr*>(bytes.data() + net_length() - 28);
    }
    const rte_udp_hdr& udp() const { return *reinterpret_cast<const rte_udp_hdr*>(&ip() + 1); }
    std::uint32_t destination() const { return rte_be_to_cpu_32(ip().dst_addr); }
};

inline Frame frame_of(const rte_mbuf& packet) {
    Frame frame;
    frame.segments = packet.nb_segs;
    frame.flags = packet.ol_flags;
    std::uint16_t segments = 0;
    for (const rte_mbuf* m = &packet; m != nullptr; m = m->next) {
        const auto* const data = rte_pktmbuf_mtod(m, const std::uint8_t*);
        frame.bytes.insert(frame.bytes.end(), data, data + m->data_len);
        frame.external |= RTE_MBUF_HAS_EXTBUF(m);
        ++segments;
    }
    EXPECT_EQ(segments, packet.nb_segs);
    EXPECT_EQ(frame.bytes.size(), packet.pkt_len);
    return frame;
}

/// Acts as drivers do in transmitting: it takes only part of a burst, keeps segments until more are sent, and
/// gives them back late.
class FakeQueue {
  public:
    /// Returns how many of `n` frames to take; all by default.
    std::function<std::uint16_t(std::uint16_t n)> accept = [](std::uint16_t n) { return n; };
    /// Gets each frame that is taken.
    std::function<void(const rte_mbuf&)> look = [this](const rte_mbuf& m) { frames.push_back(frame_of(m)); };
    /// Sets how many of the newest segments are kept until more are sent.
    std::size_t keep = 0;
    std::vector<Frame> frames;
    std::uint64_t taken = 0;
    std::uint64_t bursts = 0;
    std::size_t most_in_a_burst = 0;

    ~FakeQueue() { release(); }

    port::TxQueue queue() { return {&burst, &reap, this, 7}; }
    std::size_t held() const { return held_.size(); }
    /// Frees all segments, as stopping a port does.
    void release() { release_down_to(0); }
    std::uint64_t reaps = 0;

  private:
    static std::uint16_t burst(void* self, std::uint16_t queue, rte_mbuf** mbufs, std::uint16_t count) {
        return static_cast<FakeQueue*>(self)->take(queue, mbufs, count);
    }
    static void reap(void* self, std::uint16_t) { ++static_cast<FakeQueue*>(self)->reaps; }

    std::uint16_t take(std::uint16_t queue, rte_mbuf** mbufs, std::uint16_t count) {
        EXPECT_EQ(queue, 7);
        EXPECT_GT(count, 0);
        ++bursts;
        most_in_a_burst = std::max<std::size_t>(most_in_a_burst, count);
        const std::uint16_t n = std::min(count, accept(count));
        for (std::uint16_t i = 0; i < n; ++i) {
            look(*mbufs[i]);
            for (rte_mbuf* m = mbufs[i]; m != nullptr;) {
                rte_mbuf* const next = m->next;
                held_.push_back(m);
                m = next;
            }
        }
        taken += n;
        release_down_to(keep);
        return n;
    }
    void release_down_to(std::size_t left) {
        while (held_.size() > left) {
            rte_pktmbuf_free_seg(held_.front());
            held_.pop_front();
        }
    }

    std::deque<rte_mbuf*> held_;  ///< segments, oldest first
};

/// Holds registered memory with a pattern.
class Memory {
  public:
    explicit Memory(std::size_t bytes) : bytes_(bytes) {
        for (std::size_t i = 0; i < bytes; ++i)
            bytes_[i] = static_cast<std::byte>((i * 2654435761U) >> 24);
    }
    std::span<const std::byte> part(std::size_t at, std::size_t length) const {
        return std::span<const std::byte>(bytes_).subspan(at, length);
    }
    memory::Region region(bool cpu_accessible = true) {
        return {bytes_.data(), bytes_.size(),
                cpu_accessible ? memory::MemoryKind::host : memory::MemoryKind::device};
    }

  private:
    std::vector<std::byte> bytes_;
};

inline Destination group(std::uint8_t number) {
    return {Endpoint{Ipv4{0xEF0A0A00U + number}, 7148, {}}, {}};
}

/// Makes a sender on a fake queue, with registered memory. At the end every heap must be completed and every
/// mbuf back.
class SenderTest : public testing::Test {
  protected:
    SenderTest() {
        regions.add(memory.region());
        config.name = "test";
        config.destinations = {group(0)};
        config.source_mac = {2, 0, 0, 0, 0, 1};
        config.source_ip = Ipv4{0x0A000001};
        config.source_port = 50000;
        config.capabilities.tx_multi_segment = true;
        config.capabilities.tx_external_buffer = true;
        config.capabilities.tx_device_memory = true;
        config.capabilities.max_tx_frame = 65535;
        config.regions = &regions;
        config.max_heaps = 64;
        config.tx_descriptors = 256;
    }
    ~SenderTest() override { finish(); }

    /// Makes the sender; the configuration is final.
    Sender& sender() {
        if (!sender_) {
            config.queue = queue.queue();
            sender_ = std::make_unique<Sender>(config);
        }
        return *sender_;
    }

    void finish() {
        if (!sender_)
            return;
        queue.release();
        sender_->collect(now);
        take_completions();
        EXPECT_EQ(sender_->in_flight(), 0U) << "heaps that never completed";
        EXPECT_EQ(sender_->mbufs_out(), 0U) << "mbufs that never came back";
        const stats::SendCounters& c = sender_->counters();
        EXPECT_EQ(c.packets, c.zero_copy_packets + c.copied_packets);
        EXPECT_EQ(c.packets, queue.taken);
        sender_.reset();
    }

    void poll() { sender().poll(now += 1000); }
    /// Polls until the sender is idle; false if that takes too many polls.
    bool run(std::size_t most = 100'000) {
        for (std::size_t i = 0; i < most; ++i) {
            poll();
            take_completions();
            if (sender().idle())
                return true;
        }
        return false;
    }
    void take_completions() {
        std::array<Completion, 5> some;
        while (const std::size_t n = sender_->poll_completions(some))
            completions.insert(completions.end(), some.begin(),
                               some.begin() + static_cast<std::ptrdiff_t>(n));
    }
    std::vector<SendStatus> statuses() const {
        std::vector<SendStatus> all;
        for (const Completion& c : completions)
            all.push_back(c.status);
        return all;
    }

    OutgoingHeap& heap(std::size_t bytes, std::size_t at = 0) {
        OutgoingHeap& h = heaps.emplace_back(wire::Flavour(48));
        h.add_item(0x1600, memory.part(at, bytes));
        return h;
    }

    /// Returns the UDP payloads that were sent.
    std::vector<Bytes> payloads() const {
        std::vector<Bytes> all;
        for (const Frame& frame : queue.frames)
            all.push_back(frame.payload());
        return all;
    }
    std::vector<Bytes> expected(OutgoingHeap& h, std::uint64_t cnt) const {
        return packets_of(h.layout(config.max_packet_size, &regions), cnt);
    }

    Memory memory{4 << 20};
    memory::RegionTable regions;
    std::deque<OutgoingHeap> heaps;
    FakeQueue queue;
    SenderConfig config;
    std::uint64_t now = 1;
    std::vector<Completion> completions;

  private:
    std::unique_ptr<Sender> sender_;
};

/// Has the test's clock, and a port that takes as many packets as the test says.
class LimitedPortTest : public SenderTest {
  protected:
    LimitedPortTest() {
        config.clock = [] { return clock_now; };
        clock_now = now;
        queue.accept = [this](std::uint16_t n) {
            const std::uint16_t take = std::min(n, takes);
            takes = static_cast<std::uint16_t>(takes - take);
            return take;
        };
    }

    std::uint16_t takes = 0;  ///< packets that the port still takes
};

inline std::uint64_t cnt_of(const Bytes& payload) {
    return load_be64(payload.data() + 8) & 0xFFFFFFFFFFFF;
}

}  // namespace spead::send::test
