// SPDX-License-Identifier: BSD-3-Clause
// A lane without EAL that fills chunks, from the frame to the user: any placement, window and buffers,
// hostile packets, time, and a user who keeps chunks. No byte outside the chunks' buffers is written. Every
// packet is in one counter, and every chunk in one place. All chunks come back.

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "recv/datagram_lane.hpp"
#include "stats/snapshot.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/unit/chunk/random_placement.hpp"
#include "tests/unit/recv/datagram.hpp"

namespace {

using namespace spead;
using namespace spead::recv;
using chunk::Placement;
using chunk::Term;
using fuzz::Choices;
using fuzz::Input;
using fuzz::require;
using recv::test::Bytes;

constexpr int kMostSteps = 300;
constexpr std::size_t kArena = 4096;
constexpr std::size_t kGuard = 64;
constexpr std::uint8_t kGuarded = 0xA5;
constexpr std::uint8_t kPayload = 0x77;
constexpr std::uint64_t kSecond = 200;

/// Holds bytes with a guard before and behind them.
class GuardedBytes {
  public:
    explicit GuardedBytes(std::size_t size) : all_(size + 2 * kGuard, 0) {
        std::fill_n(all_.begin(), kGuard, kGuarded);
        std::fill_n(all_.end() - kGuard, kGuard, kGuarded);
    }
    std::span<std::uint8_t> bytes() { return std::span(all_).subspan(kGuard, all_.size() - 2 * kGuard); }
    void check() const {
        for (std::size_t i = 0; i < kGuard; i++)
            require(all_[i] == kGuarded && all_[all_.size() - 1 - i] == kGuarded,
                    "nothing is written outside a chunk");
    }

  private:
    std::vector<std::uint8_t> all_;
};

struct Buffers {
    explicit Buffers(const chunk::Layout& layout)
        : data(layout.bytes), present(layout.present_bytes()), extra(layout.heaps * layout.extra_bytes) {}
    GuardedBytes data, present, extra;
};

LaneConfig any_lane(Choices& choices) {
    LaneConfig c;
    c.name = "s0";
    for (std::uint32_t i = 0; i < 3; i++)
        c.endpoints.push_back({{0xEF010203 + i}, 7148, {}});
    c.max_packet_size = 200 + static_cast<std::uint32_t>(choices.below(200));
    c.window.substreams = 1 + static_cast<std::uint32_t>(choices.below(3));
    c.window.max_live = 1 + static_cast<std::uint32_t>(choices.below(6));
    c.window.max_heap_bytes = kArena;
    c.window.history_ticks = 4 * choices.byte();
    c.window.timeout_ticks = choices.byte();
    const std::uint8_t what = choices.byte();
    c.window.in_order = (what & 1U) != 0;
    c.window.stop_on_stop_item = (what & 2U) != 0;
    c.window.guarded = (what & 4U) != 0;
    c.window.on_full = (what & 8U) != 0 ? heap::FullPolicy::block : heap::FullPolicy::drop_newest;
    return c;
}

chunk::ChunkWindowConfig any_window(Choices& choices) {
    chunk::ChunkWindowConfig c;
    c.chunks = 1 + static_cast<std::uint32_t>(choices.below(4));
    c.eviction = choices.flag() ? chunk::Eviction::lossless : chunk::Eviction::lossy;
    c.timeout_ticks = choices.flag() ? choices.byte() : 0;
    c.patience_ticks = choices.byte();
    c.max_jump = choices.below(20);
    c.second_ticks = kSecond;
    c.stream = 5;
    return c;
}

class Filled {
  public:
    Filled(const Placement& placement, Choices& choices)
        : placement_(placement),
          layout_(placement.check("fuzz")),
          config_(any_window(choices)),
          ring_(config_.chunks + 1 + choices.below(4)),
          window_(config_, ring_),
          random_(choices.word32()) {
        for (std::size_t i = 0; i < ring_.capacity(); i++) {
            Buffers& b = *buffers_.emplace_back(std::make_unique<Buffers>(layout_));
            ring_.add(layout_, std::as_writable_bytes(b.data.bytes()), b.present.bytes(),
                      std::as_writable_bytes(b.extra.bytes()));
        }
        const LaneConfig lane = any_lane(choices);
        whole_ = choices.flag();
        waits_ = lane.window.on_full == heap::FullPolicy::block;
        lane_ = std::make_unique<DatagramLane>(lane, kArena);
        lane_->fill(std::make_unique<chunk::ChunkLane>(placement_, window_, lane_->lane().counters, waits_,
                                                       lane.window));
    }

    void step(Choices& choices) {
        switch (choices.below(12)) {
            case 0:
                lane_->idle(now_);
                break;
            case 1:
                now_ += choices.byte();
                lane_->housekeep(now_);
                break;
            case 2:
            case 3:
                take();
                break;
            case 4:
                give_back(choices.below(4));
                break;
            default:
                give(choices);
        }
        check();
    }

    void finish() {
        for (int i = 0; i < 1000 && !lane_->flush(); i++) {
            lane_->idle(now_);
            take();
            give_back(1000);
        }
        require(lane_->flush(), "the lane can be flushed");
        while (take() != 0)
            give_back(1000);
        give_back(1000);
        check();
        const chunk::WindowCounts& counts = window_.counts();
        require(counts.opened.load() == counts.handed_over.load(), "all open chunks were handed over");
        require(taken_ == counts.handed_over.load(), "all chunks were taken");
        require(ring_.free() == ring_.chunks(), "all chunks are free again");
        require(chunk_bytes_ == lane_->lane().counters.bytes || placement_may_lose(),
                "all placed bytes are in a chunk");
    }

  private:
    /// Returns whether a heap may be given up whose bytes are counted.
    bool placement_may_lose() const { return lane_->lane().chunks->tracks(); }

    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    /// Returns a value for the item of a term, near to those that it expects.
    std::uint64_t value(const Term& term, bool is_time, std::uint64_t count) {
        if (below(64) == 0)
            return random_() >> below(64);
        std::uint64_t value = 0;
        if (!term.list.empty()) {
            value = term.list[below(term.list.size())];
        } else {
            if (is_time && below(8) == 0)
                time_ += below(64) == 0 ? below(100) : 1;
            value = term.first + term.step * (is_time ? time_ - std::min(time_, below(8)) : below(count));
        }
        return (value << term.shift) + (below(64) == 0 ? 1 : 0);
    }

    Bytes datagram(std::uint8_t form) {
        wire::test::Packet p;
        p.flavour = wire::Flavour((form & 1U) != 0 ? 48U : 40U);
        const std::uint64_t most = p.flavour.value_mask();
        const std::uint64_t length = below(16) == 0 ? below(300) : placement_.heap_bytes;
        // Usually one of the packets of a heap that is cut evenly.
        const bool whole = below(64) == 0 ? !whole_ : whole_;
        const std::uint64_t part = whole ? length : std::max<std::uint64_t>(1, (length + 2) / 3);
        const std::uint64_t parts =
            std::max<std::uint64_t>(1, (length + part - 1) / std::max<std::uint64_t>(1, part));
        const std::uint64_t at = below(32) == 0 ? below(300) : part * below(parts);
        const std::uint64_t left = length - std::min(at, length);
        p.payload.assign(below(32) == 0 ? below(120) : std::min(part, left), kPayload);
        p.immediate(wire::item::kHeapCnt, below(16) == 0 ? random_() & most : count() & most);
        if (below(8) != 0)
            p.immediate(wire::item::kHeapLength, length);
        p.immediate(wire::item::kPayloadOffset, at);
        p.immediate(wire::item::kPayloadLength, p.payload.size());
        if (at == 0 || (form & 4U) != 0) {
            for (const chunk::Axis& axis : placement_.axes)
                add(p, axis.term, axis.is_time, axis.count);
            for (const chunk::Extra& extra : placement_.extras)
                add(p, extra.term, false, 5);
        }
        if (form >= 254)
            p.immediate(wire::item::kStreamCtrl, below(4));
        Bytes bytes = p.build();
        if ((form & 0x38U) == 0x38U)
            bytes[below(bytes.size())] ^= static_cast<std::uint8_t>(1 + below(255));
        if ((form & 0xF8U) == 0x40U)
            bytes.resize(below(bytes.size() + 1));
        return bytes;
    }
    /// Returns a heap count, which may be one of the placement's terms.
    std::uint64_t count() {
        for (const chunk::Axis& axis : placement_.axes)
            if (axis.term.kind == Term::Kind::heap)
                return value(axis.term, axis.is_time, axis.count);
        return time_ % 64 * 4 + below(8);
    }
    void add(wire::test::Packet& p, const Term& term, bool is_time, std::uint64_t count) {
        if (term.kind != Term::Kind::item || below(64) == 0)
            return;
        const std::uint64_t v = value(term, is_time, count) & p.flavour.value_mask();
        below(128) == 0 ? p.address(term.id, v) : p.immediate(term.id, v);
    }

    static Bytes raw(Choices& choices) {
        const auto bytes = choices.bytes(100);
        return {bytes.begin(), bytes.end()};
    }

    /// Gives a burst in one of three ways. Its bytes are gone afterwards.
    void give(Choices& choices) {
        const std::uint8_t how = choices.byte();
        const std::size_t count = 1 + how % 80U;
        std::vector<Bytes> memory;
        std::vector<Datagram> datagrams;
        std::vector<std::span<const std::uint8_t>> frames;
        for (std::size_t i = 0; i < count; i++) {
            const Bytes d = i % 8 == 7 && below(16) == 0 ? raw(choices) : datagram(choices.byte());
            recv::test::Way way;
            way.to += static_cast<std::uint32_t>(below(3));
            way.from += static_cast<std::uint32_t>(below(4));
            if (how >= 170) {
                frames.emplace_back(memory.emplace_back(recv::test::frame(d, way)));
                continue;
            }
            Bytes& copy = memory.emplace_back(wire::kNetHeader + d.size());
            std::copy(d.begin(), d.end(), copy.begin() + wire::kNetHeader);
            datagrams.push_back({{{way.from}, {way.to}, way.from_port, way.port},
                                 std::span<const std::uint8_t>(copy).subspan(wire::kNetHeader),
                                 how >= 85});
        }
        now_ += how % 4U;
        const std::size_t n = how >= 170 ? lane_->take_frames(frames, now_) : lane_->take(datagrams, now_);
        require(n == count || waits_, "packets wait only where nothing may be lost");
        given_ += n;
    }

    std::size_t take() {
        chunk::Chunk* const c = ring_.take();
        if (c == nullptr)
            return 0;
        taken_++;
        require(c->stream == 5 && c->id >= 0, "a chunk has its numbers");
        require(c->heaps_expected == layout_.heaps && c->heaps_present <= c->heaps_expected,
                "a chunk counts its heaps");
        std::uint64_t ones = 0;
        for (const std::uint8_t one : c->present) {
            require(one <= 1, "presence is 0 or 1");
            ones += one;
        }
        require(ones == 0 || c->packets != 0, "nothing is present without a packet");
        require(ones >= c->heaps_present, "heaps that arrived are present");
        chunk_bytes_ += c->bytes;
        held_.push_back(c);
        return 1;
    }
    void give_back(std::size_t most) {
        for (; most > 0 && !held_.empty(); most--) {
            require(ring_.give_back(*held_.back()), "the user has it");
            held_.pop_back();
        }
    }

    void check() {
        for (const auto& b : buffers_)
            for (const GuardedBytes* const bytes : {&b->data, &b->present, &b->extra})
                bytes->check();
        stats::Snapshot all;
        stats::StreamSnapshot& stream = all.streams.emplace_back();
        stream.name = "s0";
        stream.add(lane_->lane().counters, lane_->lane().counters.heaps_pushed);
        stats::PortSnapshot& port = all.ports.emplace_back();
        port.name = "p0";
        port.add(lane_->counters());
        for (const std::string& broken : stats::broken_identities(all))
            require(false, "the counters' identities hold", broken);
        require(port.rx_packets == given_, "every packet is counted once");
        require(ring_.chunks() == ring_.free() + ring_.waiting() + window_.open() + held_.size(),
                "every chunk is in one place");
    }

    const Placement placement_;
    const chunk::Layout layout_;
    const chunk::ChunkWindowConfig config_;
    std::vector<std::unique_ptr<Buffers>> buffers_;
    chunk::ChunkRing ring_;
    chunk::ChunkWindow window_;
    std::mt19937_64 random_;
    std::unique_ptr<DatagramLane> lane_;
    std::vector<chunk::Chunk*> held_;
    bool waits_ = false;
    bool whole_ = false;  ///< most heaps are one packet
    std::uint64_t now_ = 1;
    std::uint64_t time_ = 0;
    std::uint64_t given_ = 0;
    std::uint64_t taken_ = 0;
    std::uint64_t chunk_bytes_ = 0;
};

}  // namespace

std::vector<Input> fuzz::seeds() {
    std::vector<Input> inputs;
    std::mt19937 random(1);
    for (unsigned kind = 0; kind < 40; kind++) {
        // The placement, window and lane; then bursts, with a user who takes most of the chunks.
        Input input;
        for (int i = 0; i < 24; i++)
            input.push_back(static_cast<std::uint8_t>(random()));
        for (unsigned step = 0; step < 20; step++) {
            input.insert(input.end(), {8, static_cast<std::uint8_t>(random() % 256)});
            for (unsigned i = 0; i < 40; i++)
                input.push_back(static_cast<std::uint8_t>(kind % 2 == 0 ? 4 + random() % 4 : random()));
            input.insert(input.end(), {2, 2, 4, static_cast<std::uint8_t>(kind % 4)});
        }
        inputs.push_back(std::move(input));
    }
    return inputs;
}

/// Reads placement, window and lane from the first bytes, and the steps from the others.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Choices choices({data, size});
    chunk::RandomPlacement made(choices.word32());
    Filled filled(made.make(1 + static_cast<std::uint32_t>(choices.below(4)), 24), choices);
    for (int i = 0; i < kMostSteps && !choices.empty(); i++)
        filled.step(choices);
    filled.finish();
    return 0;
}
