// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <set>
#include <span>

#include "port/impaired_queue.hpp"
#include "tests/eal/recv/rig.hpp"

/// Tests which counter each packet must be in after a network impaired it.
namespace spead::recv::test {
namespace {

using port::fate_of;
using port::ImpairedQueue;
using port::Impairments;
using port::TxQueue;

/// Stands in for a cable with faults. It returns packets as bytes, in the order in which they leave it.
class Network {
  public:
    Network(const Pool& pool, const Impairments& impairments)
        : pool_(pool),
          queue_({impairments, 1e9, 2000, 64, SOCKET_ID_ANY, [](const void*) -> std::uint64_t { return 1; },
                  nullptr},
                 "test") {
        queue_.set_inner({[](void* context, std::uint16_t, rte_mbuf** mbufs, std::uint16_t count) {
                              for (std::uint16_t i = 0; i < count; i++)
                                  static_cast<Network*>(context)->out_.push_back(
                                      port::test::bytes_of(mbufs[i]));
                              rte_pktmbuf_free_bulk(mbufs, count);
                              return count;
                          },
                          nullptr, this, 0});
    }

    std::vector<Bytes> carry(const std::vector<Bytes>& frames) {
        for (const Bytes& bytes : frames) {
            rte_mbuf* packet = pool_.make(bytes);
            EXPECT_EQ(queue_.queue().tx_burst(&packet, 1), 1);
        }
        queue_.flush();
        queue_.poll();
        EXPECT_TRUE(queue_.empty());
        return std::exchange(out_, {});
    }
    const port::ImpairCounters& counters() const { return queue_.counters(); }

  private:
    const Pool& pool_;
    ImpairedQueue queue_;
    std::vector<Bytes> out_;
};

/// Returns all counters of the stream and its port by name, to be compared before and after a packet.
std::map<std::string, std::uint64_t> counts(const Rig& rig) {
    std::map<std::string, std::uint64_t> all;
    for (std::size_t o = 0; o < kPortOutcomes; o++)
        all["port " + std::string(name_of(static_cast<PortOutcome>(o)))] =
            rig.count(static_cast<PortOutcome>(o));
    for (std::size_t o = 0; o < kPacketOutcomes; o++)
        all[std::string(name_of(static_cast<PacketOutcome>(o)))] = rig.count(static_cast<PacketOutcome>(o));
    const auto& c = rig.lanes.front()->counters;
    all["started"] = c.heaps_started;
    all["reordered"] = c.packets_reordered;
    for (std::size_t e = 0; e < kHeapEnds; e++)
        all["heap " + std::string(name_of(static_cast<HeapEnd>(e)))] = c.heaps_ended[e];
    return all;
}

/// Holds the parts of a heap that have come so far.
struct Came {
    std::size_t length = 0;
    std::map<std::uint64_t, std::size_t> pieces;  ///< by offset
    std::map<std::uint64_t, Bytes> bytes;

    std::uint64_t prefix() const {
        std::uint64_t at = 0;
        for (const auto& [offset, size] : pieces)
            if (offset == at)
                at += size;
        return at;
    }
    bool complete() const { return prefix() == length; }
};

LaneConfig patient(std::size_t heaps) {
    LaneConfig c = lane_config("s0", one_group());
    c.window.max_live = static_cast<std::uint32_t>(heaps);
    c.window.history = static_cast<std::uint32_t>(heaps);
    c.window.history_ticks = std::uint64_t{1} << 60;
    return c;
}

constexpr std::size_t kImpairedHeaps = 60;

std::vector<MadeHeap> heaps() {
    std::vector<MadeHeap> all;
    for (std::uint64_t cnt = 1; cnt <= kImpairedHeaps; cnt++)
        all.push_back({cnt, 300 + cnt * 97 % 3000, 400, {}});
    return all;
}

std::vector<Bytes> frames_of(const std::vector<MadeHeap>& heaps) {
    std::vector<Bytes> all;
    for (const MadeHeap& heap : heaps)
        for (const Bytes& frame : heap.frames())
            all.push_back(frame);
    return all;
}

/// Returns the contents of a frame that arrives; nothing if it is no SPEAD packet any more.
std::optional<Judged> judge_frame(const Bytes& bytes) {
    wire::UdpView udp;
    if (wire::parse_udp(bytes.data(), bytes.size(), bytes.size(), true, udp) != PortOutcome::stream)
        return std::nullopt;
    return judge_datagram(bytes.data() + udp.payload_offset, udp.payload_length, udp.payload_length);
}

/// Checks, one by one, that packets from the network are in the counters that their heaps' history requires.
void expect_each_counted(const Impairments& impairments) {
    OneStream rig(patient(kImpairedHeaps));
    Network network(rig.pool, impairments);
    const std::vector<MadeHeap> made = heaps();
    const std::vector<Bytes> sent = frames_of(made);
    std::map<std::uint64_t, Came> came;
    for (const Bytes& frame : network.carry(sent)) {
        auto expected = counts(rig);
        expected["port stream"]++;
        if (const std::optional<Judged> j = judge_frame(frame); !j) {
            expected["malformed"]++;
        } else {
            Came& heap = came[j->view.key];
            heap.length = made[j->view.key - 1].length;
            const bool first = heap.pieces.empty();
            const std::uint64_t prefix = heap.prefix();
            if (heap.pieces.contains(j->view.offset)) {
                expected["duplicate"]++;
            } else {
                expected["placed"]++;
                expected["started"] += first;
                expected["reordered"] += j->view.offset != prefix;
                heap.pieces[j->view.offset] = j->view.payload_length;
                heap.bytes[j->view.offset] = {
                    frame.begin() + static_cast<std::ptrdiff_t>(42 + j->payload_at),
                    frame.begin() + static_cast<std::ptrdiff_t>(42 + j->payload_at + j->view.payload_length)};
                expected["heap complete"] += heap.complete();
            }
        }
        rig.give(frame);
        ASSERT_EQ(counts(rig), expected) << "after packet " << rig.count(PortOutcome::stream);
    }
    const port::ImpairCounters& c = network.counters();
    EXPECT_EQ(c.given, sent.size());
    EXPECT_EQ(rig.count(PortOutcome::stream), c.given - c.lost + c.duplicated);
    // Heaps whose packets came, all of them, are complete and hold what came, right or wrong.
    for (const Taken& t : rig.take()) {
        ASSERT_TRUE(t.complete);
        const Came& heap = came.at(t.cnt);
        EXPECT_TRUE(heap.complete());
        for (const auto& [offset, bytes] : heap.bytes)
            EXPECT_EQ(t.payload.substr(offset, bytes.size()), std::string(bytes.begin(), bytes.end()))
                << "heap " << t.cnt << " at " << offset;
    }
    EXPECT_TRUE(rig.agent.flush());
    std::size_t incomplete = 0;
    for (const auto& [cnt, heap] : came)
        incomplete += !heap.complete();
    EXPECT_EQ(rig.ended(HeapEnd::flushed), incomplete);
    EXPECT_EQ(rig.ended(HeapEnd::complete), came.size() - incomplete);
}

TEST(Impaired, EveryPacketIsInTheCounterThatItsFateAsksFor) {
    for (const char* const text :
         {"", "loss=5%", "loss=40%,seed=2", "duplicate=20%", "duplicate=100%", "reorder=8",
          "reorder=300,seed=9", "loss=5%,duplicate=5%,reorder=16,seed=3",
          "loss=30%,duplicate=50%,reorder=200,seed=4", "loss=100%"}) {
        SCOPED_TRACE(text);
        expect_each_counted(Impairments::parse(text, "test"));
    }
}

/// Returns whether no inverted bit makes a packet one of another heap or place, which the tests leave out.
bool only_bytes_change(const Impairments& impairments, const std::vector<Bytes>& sent) {
    for (std::size_t i = 0; i < sent.size(); i++) {
        const port::Fate fate = fate_of(impairments, i);
        Bytes bytes = sent[i];
        const std::uint64_t bit = fate.bit % ((bytes.size() - 42) * 8);
        bytes[42 + bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
        if (const auto now = judge_frame(bytes); fate.corrupted && now && !(*now == *judge_frame(sent[i])))
            return false;
    }
    return true;
}

TEST(Impaired, CorruptedPacketsAreRefusedOrBringWhatTheyHold) {
    const std::vector<Bytes> sent = frames_of(heaps());
    int tried = 0;
    for (std::uint64_t seed = 1; seed < 500 && tried < 5; seed++) {
        const Impairments impairments =
            Impairments::parse("corrupt=6%,duplicate=5%,reorder=6,seed=" + std::to_string(seed), "t");
        if (!only_bytes_change(impairments, sent))
            continue;
        SCOPED_TRACE(seed);
        tried++;
        expect_each_counted(impairments);
    }
    EXPECT_EQ(tried, 5) << "seeds without an ambiguous bit";
}

}  // namespace
}  // namespace spead::recv::test
