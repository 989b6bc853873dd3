// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/armed_event.hpp"
#include "send/datagram_sender.hpp"
#include "send/sender.hpp"

namespace spead::door {

/// Takes the heaps of a UserHeapSource and reports their completions, in the order of submission: the sender
/// of a port, or one without EAL. Called under the source's lock.
class HeapTaker {
  public:
    using Done = send::DatagramSender::Done;

    HeapTaker() = default;
    virtual ~HeapTaker() = default;
    HeapTaker(const HeapTaker&) = delete;
    HeapTaker& operator=(const HeapTaker&) = delete;

    /// Queues all heaps of the group, or none; false when there is no room. Throws Error.
    virtual bool submit(std::span<const send::Submission> group, send::Interleave mode) = 0;
    virtual std::size_t poll_completions(std::span<Done> out) = 0;
    virtual bool any_completed() const noexcept = 0;
    virtual std::uint32_t in_flight() const noexcept = 0;
    virtual void set_cnt_sequence(std::uint64_t next, std::uint64_t step) noexcept = 0;
    virtual void request_stop() noexcept = 0;
    /// Returns the counts, once the thread that sends has ended or no longer has the sender.
    virtual stats::SendCounters counters() const noexcept = 0;
    /// Announces completions by the event from now on. Call it before anything is submitted.
    virtual void announce_by(const std::shared_ptr<ArmedEvent>& event) noexcept = 0;
};

/// Takes heaps for a port's sender.
class PortTaker final : public HeapTaker {
  public:
    explicit PortTaker(send::Sender& sender) noexcept : sender_(sender) {}

    bool submit(std::span<const send::Submission> group, send::Interleave mode) override {
        return sender_.submit(group, mode);
    }
    std::size_t poll_completions(std::span<Done> out) override {
        std::array<send::Completion, 32> completions;
        const std::size_t n =
            sender_.poll_completions(std::span(completions).first(std::min(out.size(), completions.size())));
        for (std::size_t i = 0; i < n; i++)
            out[i] = {completions[i].user, completions[i].cnt, completions[i].status, 0};
        return n;
    }
    bool any_completed() const noexcept override { return sender_.any_completed(); }
    std::uint32_t in_flight() const noexcept override { return sender_.in_flight(); }
    void set_cnt_sequence(std::uint64_t next, std::uint64_t step) noexcept override {
        sender_.set_cnt_sequence(next, step);
    }
    void request_stop() noexcept override { sender_.request_stop(); }
    stats::SendCounters counters() const noexcept override { return sender_.counters(); }
    void announce_by(const std::shared_ptr<ArmedEvent>& event) noexcept override {
        sender_.announce_by(event);
    }

  private:
    send::Sender& sender_;
};

}  // namespace spead::door
