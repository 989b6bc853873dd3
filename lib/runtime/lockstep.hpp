// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace spead::runtime {

/// Keeps two senders of the same heaps together, a sender and its copy (`copy_of`, docs/paths.md).
///
/// A data heap is known by its index since the start. Neither sender begins a heap that is `lead` or more
/// ahead of the other one, unless that one does not move: its port takes nothing, perhaps. It may take
/// kPatience, or twice as long as its heaps and bursts. Time counts only while it runs: one without a CPU
/// cannot say that its port takes nothing. It is waited for until kUnseen. A sender that was left behind goes
/// on where the other one is, and leaves out what is between.
///
/// Starts of both sides that overlap are one round, in which both have the same heap counts. A copy may be
/// replaced by another one and be busy with its last heaps: `who` tells them apart, the address of a sender's
/// source. The side is that of the last one to begin. To a former one, nobody else is there.
///
/// Control threads only; calls take a lock for a few instructions at most. No call waits.
class Lockstep {
  public:
    /// Counts what a side has used in all its starts.
    struct Used {
        std::uint64_t counts = 0;  ///< heap counts, of heaps of any kind
        std::uint64_t data = 0;    ///< data heaps, with those it left out
        bool operator==(const Used&) const = default;
    };

    using Clock = std::chrono::steady_clock;
    /// Names a sender and its copy. A sender without a copy is an original that stays alone.
    enum Side : std::uint8_t { original, copy };

    static constexpr Clock::duration kPatience = std::chrono::milliseconds(50);
    /// Limits the wait for a side that does not run.
    static constexpr Clock::duration kUnseen = std::chrono::seconds(1);
    /// Holds the time for which a side that has run counts as running.
    static constexpr Clock::duration kRan = std::chrono::milliseconds(5);

    /// Takes the heaps by which one sender may be ahead, at least 1.
    explicit Lockstep(std::uint64_t lead) noexcept : lead_(lead) {}

    /// Takes the longest time that the side is expected to need from one heap to the next.
    void expect(Side side, Clock::duration time) noexcept;

    /// Says that there is a copy. Call it before the copy's first start.
    void pair() noexcept { paired_.store(true, std::memory_order_release); }
    /// Notes which heap the side sends next. Returns whether it need not call next(), having no other side.
    bool is_alone(Side side, std::uint64_t index, const void* who = nullptr) noexcept {
        if (!owns(side, who))
            return true;
        states_[side].index.store(index, std::memory_order_relaxed);
        return !paired_.load(std::memory_order_acquire);
    }

    /// Says that the side is about to start, or is not after all. If both are, the second one joins the first
    /// one's round, even if that has ended by then.
    void announce(Side side, bool starts) noexcept;
    /// Begins a start of the side, which has used this until now. Returns what is used when the round's first
    /// heap comes.
    Used begin(Side side, const Used& used, const void* who = nullptr) noexcept;

    /// Returns the index of the heap that the side sends next: `index`, or a later one if it was left behind.
    /// None: it has to wait, and to ask again.
    std::optional<std::uint64_t> next(Side side, std::uint64_t index, Clock::time_point now) noexcept;

    /// Notes that the side runs, on its thread and its lcore, while its heaps wait for its port.
    void note_running(Side side, const void* who = nullptr) noexcept {
        if (owns(side, who))
            states_[side].runs.fetch_add(1, std::memory_order_relaxed);
    }

    /// Returns whether the side was left behind before heap `index`, which next() would tell.
    bool is_left_behind(Side side, std::uint64_t index) const noexcept {
        const std::uint64_t their = other(side).index.load(std::memory_order_relaxed);
        return their > index && their - index > lead_;
    }

    /// Notes that the side is to end. If both are, they go on until they have sent the same heaps.
    void request_stop(Side side, Clock::time_point now, const void* who = nullptr) noexcept;
    /// Returns whether the side, asked to end, may do so before heap `index`. One that is to end alone need
    /// not reach the other one. That is known after kPatience.
    bool may_end(Side side, std::uint64_t index, Clock::time_point now,
                 const void* who = nullptr) const noexcept;

    /// Says whether a side sends stop items at its end. `ask_again`: it is not known yet, for kPatience at
    /// most.
    enum class Stops : std::uint8_t { yes, no, ask_again };
    /// Answers for a side that has sent all its data. `since`: when it asked for the first time. One that
    /// ends alone sends none: their heap counts are those of the other one's next heaps.
    Stops stops(Side side, Clock::time_point since, Clock::time_point now,
                const void* who = nullptr) const noexcept;

    /// Ends the start of the side, which has used this.
    void end(Side side, const Used& used, const void* who = nullptr) noexcept;

  private:
    struct State {
        std::atomic<const void*> owner{nullptr};
        bool announced = false;  ///< it is about to start
        bool joins = false;      ///< the round began when it was
        bool running = false;
        bool ended = false;  ///< in this round
        bool stopping = false;
        Clock::time_point asked{};            ///< to stop
        std::atomic<std::uint64_t> index{0};  ///< of its next heap
        Used used;                            ///< at its last begin or end
        Clock::duration expected{};           ///< from one heap to the next
        std::atomic<std::uint64_t> runs{0};   ///< moves while it waits for its port, and runs
        std::optional<std::uint64_t> seen{};  ///< the index of the other one that it waits for
        Clock::time_point since{};            ///< when it saw that first
        Clock::time_point looked{};           ///< when it looked last
        std::uint64_t their_runs = 0;         ///< of the other one, then
        Clock::time_point they_ran{};         ///< when these moved
        Clock::duration waited{};             ///< time since then in which the other one ran
        Clock::duration step{};               ///< how long it had waited when that index changed last
    };
    void announce_locked(Side side, bool starts) noexcept;
    bool has_patience(State& mine, const State& their, Clock::time_point now) const noexcept;
    bool owns(Side side, const void* who) const noexcept {
        return states_[side].owner.load(std::memory_order_relaxed) == who;
    }
    const State& other(Side side) const noexcept { return states_[side == original ? copy : original]; }

    const std::uint64_t lead_;
    std::atomic<bool> paired_{false};
    mutable std::mutex mutex_;
    std::array<State, 2> states_;
    Used used_;  ///< at the beginning of the round
};

}  // namespace spead::runtime
