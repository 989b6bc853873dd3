// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/armed_event.hpp"
#include "port/port_io.hpp"
#include "port/timestamps.hpp"
#include "send/frame_builder.hpp"
#include "send/in_flight.hpp"
#include "send/pacer.hpp"
#include "send/port_outage.hpp"
#include "send/sender.hpp"
#include "send/turns.hpp"
#include "send/tx_burst.hpp"
#include "stats/counters.hpp"

namespace spead::send {

/// Holds the data that the heap source and the lcore share besides the heaps.
struct Shared {
    /// Counts the packets of all heaps ever submitted. Written by the heap source before it submits them.
    alignas(64) std::atomic<std::uint64_t> packets_submitted{0};
    alignas(64) std::atomic<bool> stop{false};
    std::atomic<Cut> cut{Cut::nothing};
    std::atomic<bool> recall{false};
    /// Counts the lcore's polls. Written by the lcore.
    alignas(64) std::atomic<std::uint64_t> polls{0};
};

/// Runs the lcore's side of a sender: accepts heaps, interleaves and paces them, and gives frames
/// to one queue. Completes the heaps, in order, when every packet was accepted and every mbuf that points at
/// their memory is freed.
///
/// Payload is sent without a copy only if enough packets are known to follow for the driver to release it:
/// the rest of the present heaps and all submitted ones. So a driver that keeps the last segments until more
/// are sent never keeps a heap open.
class alignas(64) Transmitter {
  public:
    struct Setup {
        port::TxQueue queue;
        std::uint16_t late_free_segments = 0;
        FrameBuilder::Options frames;
        std::vector<DestinationHeader> destinations;
        Pacing pacing;
        double hz = 0;                      ///< of the `now` that poll gets
        std::uint64_t timeout_ticks = 0;    ///< of entries with a deadline; 0: none has one
        const HeapLayout* dummy = nullptr;  ///< the source of dummies when there is no heap
        port::SendTimes times;              ///< with a clock: the port paces
    };

    /// Keeps references to all arguments but the setup.
    Transmitter(Setup setup, const Pools& pools, InFlight& heaps, Shared& shared);

    bool poll(std::uint64_t now) noexcept;
    bool collect(std::uint64_t now) noexcept;
    /// Says whether the heaps in flight still exist. At the end of the sender their owner may have freed
    /// them. Then they are not read, nothing is cut, and unbuilt packets are not counted.
    enum class Heaps : std::uint8_t { there, gone };
    /// Does the work of poll after a requested stop, without completing.
    void abandon(Heaps heaps = Heaps::there) noexcept;
    DummyResult dummy(std::uint32_t packets) noexcept;

    bool idle() const noexcept { return heaps_.empty() && burst_.empty() && heaps_.submitted() == 0; }
    std::uint64_t next_send_time() const noexcept {
        if (!pacer_.waiting() || !work_known() || queue_.burst == nullptr)
            return 0;
        return pacer_.next_time() - std::min(pacer_.next_time() - 1, ahead_);
    }
    Backlog backlog() const noexcept;
    void reap() noexcept {
        if (queue_.reap != nullptr)
            queue_.reap(queue_.context, queue_.queue);
    }
    void set_queue(const port::TxQueue& queue) noexcept;
    void announce_by(ArmedEvent* event) noexcept { event_ = event; }
    void set_times(const port::SendTimes& times) noexcept { times_ = times; }
    void set_source(const MacAddress& mac, const IpAddress& ip) noexcept;
    void set_mac(std::uint32_t substream, const MacAddress& mac) noexcept;
    void set_ttl_dscp(std::uint8_t ttl, std::uint8_t dscp) noexcept;
    void set_pacing(const Pacing& pacing) noexcept { pacer_.set(pacing); }
    const Pacing& pacing() const noexcept { return pacer_.pacing(); }
    bool stuck() const noexcept { return outage_.lasts(); }
    const stats::SendCounters& counters() const noexcept { return counters_; }

  private:
    static constexpr unsigned kBurstsPerPoll = 4;

    bool work_known() const noexcept { return !turns_.empty() || heaps_.any_fresh(); }

    void accept_entries() noexcept;
    void learn_known() noexcept;
    bool find_fresh(std::uint64_t now) noexcept;
    Slot& next_slot() noexcept;
    void begin_group() noexcept;
    void begin(Slot& slot) noexcept;
    void close(Slot& slot, Progress progress) noexcept;
    void give_up(Slot& slot, Progress progress) noexcept;
    void cut(Cut cut) noexcept;
    void cut(Slot& slot) noexcept;
    void time_out(std::uint64_t now) noexcept;
    void recall() noexcept;
    void take_away(Slot& slot, Progress progress) noexcept;
    void take_back(const Slot& slot) noexcept;
    std::uint32_t build(std::uint64_t now) noexcept;
    std::uint32_t build_some(Slot& slot) noexcept;
    void pass_turn(Slot& slot) noexcept;
    std::uint32_t build_whole(Slot& slot, std::uint32_t room) noexcept;
    std::uint32_t build_run(Slot& slot, std::uint32_t room) noexcept;
    std::uint32_t build_single(Slot& slot, std::uint32_t room) noexcept;
    void count_single(Slot& slot, const FrameBuilder::Result& result) noexcept;
    void charge(const Slot& slot, std::uint64_t bytes) noexcept;
    void count_built(Slot& slot, std::uint32_t packets, std::uint64_t bytes, std::uint32_t external) noexcept;
    bool flush() noexcept;
    void note_outage(std::uint64_t now, bool moved) noexcept;
    /// Returns whether only the port can bring progress: it did not take packets, there are no mbufs for
    /// more, or only memory is left to be returned by a driver that frees without further packets.
    bool waits_for_port() const noexcept {
        return !burst_.empty() || stalled_ || (resting_ && late_free_ == 0 && !heaps_.empty());
    }
    std::uint64_t ahead() const noexcept {
        return times_.clock != nullptr && times_.clock->known() ? horizon_ : 0;
    }
    void begin_dummies() noexcept;
    void copy_for_dummies(const Slot& from) noexcept;
    std::uint32_t build_dummies(std::uint32_t room, rte_mbuf** frames) noexcept;
    std::uint64_t header_bytes() const noexcept { return destinations_.front().length(); }

    // Hot.
    port::TxQueue queue_;
    FrameBuilder frames_;
    InFlight& heaps_;
    Shared& shared_;
    Turns turns_;                    ///< open heaps of the group
    std::uint64_t built_ = 0;        ///< packets ever built
    std::uint64_t sent_ = 0;         ///< of those, accepted by the driver, in order
    std::uint64_t known_ = 0;        ///< packets that will certainly be built, from `built_` on
    std::uint64_t cut_packets_ = 0;  ///< never built, or never sent
    std::uint64_t timeout_ticks_ = 0;
    std::uint64_t next_deadline_ = 0;  ///< nothing times out before
    Cut cut_ = Cut::nothing;
    std::uint32_t late_free_ = 0;
    bool paced_ = false;   ///< the stream or the present heap has a rate
    bool resting_ = true;  ///< there was nothing to send
    bool stalled_ = false;
    TxBurst burst_;
    Pacer pacer_;
    PortOutage outage_;
    ArmedEvent* event_ = nullptr;  ///< announces completions; usually null
    stats::SendCounters counters_;
    std::vector<StampedDestination> destinations_;
    port::SendTimes times_;
    std::uint64_t horizon_ = 0;  ///< how far ahead of their time packets go to a port that paces
    std::uint64_t ahead_ = 0;    ///< the same, or 0 while nothing is scheduled
    const HeapLayout& dummy_layout_;
    Slot dummy_;
};

}  // namespace spead::send
