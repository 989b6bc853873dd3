// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/armed_event.hpp"
#include "send/outgoing_heap.hpp"
#include "send/pacer.hpp"
#include "send/packet_writer.hpp"
#include "send/packetiser.hpp"
#include "send/sender.hpp"
#include "stats/counters.hpp"

namespace spead::send {

/// Sends the heaps of one stream as datagrams, without EAL: what Sender does on a port, for a PacketWriter.
///
/// Two threads: the heap source's (submit, poll_completions and their like) and the sender's (step, counters,
/// set_pacing). Any thread may call request_stop.
class DatagramSender {
  public:
    struct Config {
        std::string where{};  ///< of errors
        std::size_t substreams = 1;
        std::uint32_t max_packet_size = 1472;
        std::uint32_t max_heaps = 4;
        Pacing pacing{};
        std::uint64_t timeout = 0;  ///< nanoseconds within which a heap must be sent; 0: no limit
        std::uint64_t first_cnt = 1;
        std::uint64_t cnt_step = 1;
    };

    /// Reports a heap that is no longer in flight.
    struct Done {
        void* user = nullptr;
        std::uint64_t cnt = 0;
        SendStatus status = SendStatus::sent;
        int error = 0;  ///< of the packet that the writer refused; then `status` is aborted
    };

    struct Counters {
        stats::SendCounters send;   ///< `dropped`: refused by the writer, or given up with their heap
        std::uint64_t refused = 0;  ///< heaps of which the writer refused a packet
    };

    /// Throws Error when there is no memory, or the packet size is out of range.
    explicit DatagramSender(Config config);
    ~DatagramSender();
    DatagramSender(const DatagramSender&) = delete;
    DatagramSender& operator=(const DatagramSender&) = delete;

    // The heap source.

    /// Queues all heaps of the group, or none; false when there is no room. Throws Error as Sender::submit().
    bool submit(std::span<const Submission> group, Interleave mode);
    /// Takes completions, in the order of submission; returns how many.
    std::size_t poll_completions(std::span<Done> out) noexcept;
    bool any_completed() const noexcept;
    std::uint32_t in_flight() const noexcept;
    /// Gives the next heap without a count of its own this one, and `step` more to each after it.
    void set_cnt_sequence(std::uint64_t next, std::uint64_t step) noexcept;
    /// Announces completions by the event from now on. Call it before the first step.
    void announce_by(std::shared_ptr<ArmedEvent> event) noexcept { event_ = std::move(event); }

    // The sender's thread. Times are nanoseconds of one clock that never goes back.

    enum class Step : std::uint8_t {
        packets,  ///< some were written, or completed
        nothing,  ///< no heap is waiting
        time,     ///< there is nothing to do before next_time(): the rate allows no packet
        room      ///< the writer has no room
    };
    /// Writes a burst of packets.
    Step step(PacketWriter& writer, std::uint64_t now) noexcept;
    std::uint64_t next_time() const noexcept { return std::min(pacer_.next_time(), next_deadline_); }
    /// Returns whether heaps wait that no step has seen.
    bool any_submitted() const noexcept;
    void set_pacing(const Pacing& pacing) noexcept { pacer_.set(pacing); }
    const Pacing& pacing() const noexcept { return pacer_.pacing(); }
    const Counters& counters() const noexcept { return counters_; }

    // Anyone.

    /// Stops finally: the next step completes all unsent heaps as aborted, and so do later steps.
    void request_stop() noexcept { stop_.store(true, std::memory_order_relaxed); }
    bool stop_requested() const noexcept { return stop_.load(std::memory_order_relaxed); }

  private:
    static constexpr std::uint32_t kBurst = 64;  ///< packets
    /// Limits the parts of a packet; of more pieces it is copied together. 1024 in all is the kernel's limit.
    static constexpr std::uint32_t kParts = 16;

    enum class Progress : std::uint8_t { open, built, sent, aborted, timed_out, refused };

    /// Holds a heap in flight. The heap source writes it before its submission, the sender until its
    /// completion.
    struct Slot {
        Submission submission{};
        std::uint64_t cnt = 0;
        std::uint64_t deadline = 0;
        bool group_end = false;
        // The sender's.
        Packetiser packets{};
        Pacer::Cost cost = 0;
        std::uint32_t waiting = 0;  ///< its packets in the burst
        Progress progress = Progress::open;
        int error = 0;
    };

    /// Holds a packet of the burst.
    struct Built {
        std::uint64_t heap = 0;  ///< its number
        bool given_up = false;
    };

    Slot& slot(std::uint64_t number) noexcept { return slots_[number & mask_]; }
    void check(const Submission& one) const;

    bool next_group(std::uint64_t now) noexcept;
    bool build(std::uint64_t now) noexcept;
    void build_packet(Slot& s, std::uint64_t number) noexcept;
    Step write(PacketWriter& writer, std::uint64_t now) noexcept;
    void taken(std::size_t packets) noexcept;
    void refuse(int error) noexcept;
    void give_up(std::uint64_t number, Progress progress, int error) noexcept;
    void drop_given_up() noexcept;
    void time_out(std::uint64_t now) noexcept;
    bool stop_all() noexcept;
    bool publish() noexcept;

    const Config config_;
    const std::uint32_t packet_size_;
    std::uint64_t mask_;
    std::vector<Slot> slots_;
    std::shared_ptr<ArmedEvent> event_;
    std::atomic<bool> stop_{false};

    // The heap source's. A heap has the number of its submission.
    std::uint64_t next_cnt_;
    std::uint64_t cnt_step_;
    std::uint64_t taken_ = 0;  ///< heaps whose completion was taken
    alignas(64) std::atomic<std::uint64_t> submitted_{0};
    alignas(64) std::atomic<std::uint64_t> completed_{0};

    // The sender's.
    Pacer pacer_;
    std::uint64_t begun_ = 0;            ///< heaps that got their turn, or were given up before
    std::vector<std::uint64_t> active_;  ///< of the present group, with packets left
    std::size_t turn_ = 0;               ///< into active_
    bool resting_ = true;                ///< there was nothing to send
    std::array<Built, kBurst> built_{};
    std::array<Datagram, kBurst> burst_{};
    std::size_t first_ = 0, end_ = 0;  ///< packets of the burst that are not written yet
    std::vector<iovec> parts_;
    std::size_t parts_used_ = 0;
    std::unique_ptr<std::uint8_t[]> bytes_;  ///< packet_size_ bytes for each packet of a burst
    std::optional<std::uint64_t> no_room_since_{};
    std::uint64_t next_deadline_ = UINT64_MAX;
    Counters counters_;
};

}  // namespace spead::send
