// SPDX-License-Identifier: BSD-3-Clause
#include "send/datagram_sender.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"

namespace spead::send {

namespace {

constexpr double kNanoseconds = 1e9;

}  // namespace

DatagramSender::DatagramSender(Config config)
    : config_(std::move(config)),
      packet_size_(usable_packet_size(config_.max_packet_size)),
      mask_(std::bit_ceil(std::uint64_t{std::max(config_.max_heaps, 1U)}) - 1),
      slots_(mask_ + 1),
      next_cnt_(config_.first_cnt),
      cnt_step_(config_.cnt_step),
      pacer_(kNanoseconds, config_.pacing),
      parts_(kBurst * kParts),
      bytes_(new std::uint8_t[std::size_t{kBurst} * packet_size_]) {
    active_.reserve(mask_ + 1);
}

DatagramSender::~DatagramSender() = default;

void DatagramSender::check(const Submission& one) const {
    if (one.heap == nullptr)
        throw_error(config_.where, "a submission without a heap");
    if (one.substream >= config_.substreams)
        throw_error(config_.where, "substream {} does not exist: there are {}", one.substream,
                    config_.substreams);
    if (one.rate && (!std::isfinite(*one.rate) || *one.rate < 0))
        throw_error(config_.where,
                    "rate of {} bytes per second for a heap: it must be 0 (unlimited) or above", *one.rate);
}

bool DatagramSender::submit(std::span<const Submission> group, Interleave mode) {
    if (group.size() > config_.max_heaps)
        throw_error(config_.where, "a group of {} heaps can never be in flight: max_heaps is {}",
                    group.size(), config_.max_heaps);
    if (group.size() > config_.max_heaps - in_flight() || stop_requested())
        return false;
    const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    std::uint64_t number = submitted_.load(std::memory_order_relaxed);
    std::uint64_t next_cnt = next_cnt_;
    for (std::size_t i = 0; i < group.size(); i++) {
        const Submission& one = group[i];
        check(one);
        const HeapLayout* layout = nullptr;
        try {
            layout = &one.heap->layout(config_.max_packet_size, nullptr);
        } catch (const Error& error) {
            throw Error(config_.where, error.what());
        }
        const std::uint64_t mask = layout->flavour.value_mask();
        std::optional<std::uint64_t> cnt = one.cnt ? one.cnt : one.heap->cnt();
        if (cnt && *cnt > mask)
            throw_error(config_.where, "heap count {:#x} does not fit SPEAD-64-{}: the largest is {:#x}",
                        *cnt, layout->flavour.address_bits(), mask);
        if (!cnt) {
            cnt = next_cnt & mask;
            next_cnt += cnt_step_;
        }
        Slot& s = slot(number++);
        s.submission = one;
        s.cnt = *cnt;
        s.deadline = config_.timeout == 0 || one.control ? 0 : now + config_.timeout;
        s.group_end = mode == Interleave::serial || i + 1 == group.size();
        s.packets.start(*layout, *cnt);
        s.waiting = 0;
        s.progress = Progress::open;
        s.error = 0;
    }
    next_cnt_ = next_cnt;
    for (const Submission& one : group)
        ++one.heap->in_flight_;
    submitted_.store(number, std::memory_order_release);
    return true;
}

std::size_t DatagramSender::poll_completions(std::span<Done> out) noexcept {
    const std::uint64_t completed = completed_.load(std::memory_order_acquire);
    std::size_t n = 0;
    for (; n < out.size() && taken_ != completed; n++, taken_++) {
        const Slot& s = slot(taken_);
        --s.submission.heap->in_flight_;
        out[n] = {s.submission.user, s.cnt,
                  s.progress == Progress::sent        ? SendStatus::sent
                  : s.progress == Progress::timed_out ? SendStatus::timed_out
                                                      : SendStatus::aborted,
                  s.error};
    }
    return n;
}

bool DatagramSender::any_completed() const noexcept {
    return completed_.load(std::memory_order_acquire) != taken_;
}

std::uint32_t DatagramSender::in_flight() const noexcept {
    return static_cast<std::uint32_t>(submitted_.load(std::memory_order_relaxed) - taken_);
}

void DatagramSender::set_cnt_sequence(std::uint64_t next, std::uint64_t step) noexcept {
    next_cnt_ = next;
    cnt_step_ = step;
}

bool DatagramSender::any_submitted() const noexcept {
    return submitted_.load(std::memory_order_acquire) != begun_;
}

/// Gives the heaps of the next group their turns. Returns false when there is none.
bool DatagramSender::next_group(std::uint64_t now) noexcept {
    active_.clear();
    turn_ = 0;
    while (active_.empty() && any_submitted()) {
        for (bool more = true; more; begun_++) {
            Slot& s = slot(begun_);
            more = !s.group_end;
            if (s.progress != Progress::open)
                continue;
            s.cost = pacer_.cost_of(s.submission.rate.value_or(0));
            active_.push_back(begun_);
        }
    }
    if (active_.empty()) {
        resting_ = true;
        return false;
    }
    if (std::exchange(resting_, false))
        pacer_.resume(now);
    return true;
}

/// Fills the burst, which is empty. Returns false when the rate allows no packet at present.
bool DatagramSender::build(std::uint64_t now) noexcept {
    first_ = end_ = 0;
    parts_used_ = 0;
    no_room_since_.reset();
    while (end_ < kBurst) {
        if (active_.empty() && !next_group(now))
            return true;
        const std::uint64_t number = active_[turn_];
        Slot& s = slot(number);
        const bool paced = s.submission.rate ? s.cost != 0 : pacer_.cost() != 0;
        if (paced && !pacer_.ready(now))
            return end_ != 0;
        build_packet(s, number);
        const std::uint32_t bytes = burst_[end_ - 1].bytes;
        if (s.submission.rate)
            pacer_.charge(bytes, s.cost);
        else
            pacer_.charge(bytes);
        if (s.packets.done()) {
            s.progress = Progress::built;
            active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(turn_));
        } else {
            turn_++;
        }
        if (turn_ >= active_.size())
            turn_ = 0;
    }
    return true;
}

void DatagramSender::build_packet(Slot& s, std::uint64_t number) noexcept {
    const Packetiser::Packet packet = s.packets.next();
    std::uint8_t* const header = bytes_.get() + end_ * packet_size_;
    s.packets.write_header(packet, header);
    iovec* const parts = parts_.data() + parts_used_;
    std::uint32_t count = 0;
    parts[count++] = {header, packet.header_length};
    std::uint32_t pieces = 0;
    s.packets.for_each_piece(packet, [&](const std::byte* data, std::uint32_t length, PieceKind) {
        if (++pieces < kParts)
            parts[count++] = {const_cast<std::byte*>(data), length};
    });
    if (pieces >= kParts) {
        std::uint8_t* at = header + packet.header_length;
        s.packets.for_each_piece(packet, [&at](const std::byte* data, std::uint32_t length, PieceKind) {
            std::memcpy(at, data, length);
            at += length;
        });
        count = 1;
        parts[0].iov_len = packet.header_length + packet.payload_length;
    }
    burst_[end_] = {parts, count, packet.header_length + packet.payload_length, s.submission.substream};
    built_[end_] = {number, false};
    parts_used_ += count;
    end_++;
    s.waiting++;
    s.packets.advance(packet);
}

DatagramSender::Step DatagramSender::step(PacketWriter& writer, std::uint64_t now) noexcept {
    if (stop_requested()) [[unlikely]]
        return stop_all() ? Step::packets : Step::nothing;
    if (config_.timeout != 0)
        time_out(now);
    if (first_ == end_ && !build(now)) {
        publish();
        return Step::time;
    }
    if (first_ == end_)
        return publish() ? Step::packets : Step::nothing;
    const Step result = write(writer, now);
    publish();
    return result;
}

/// Writes the rest of the burst.
DatagramSender::Step DatagramSender::write(PacketWriter& writer, std::uint64_t now) noexcept {
    bool moved = false;
    while (first_ != end_) {
        const PacketWriter::Written w = writer.write(std::span(burst_).subspan(first_, end_ - first_));
        taken(w.packets);
        moved |= w.packets != 0;
        if (w.error != 0) {
            refuse(w.error);
            moved = true;
        } else if (w.no_room) {
            break;
        }
    }
    if (moved) {
        counters_.send.active.seen(now);
        no_room_since_.reset();
    }
    if (first_ == end_)
        return Step::packets;
    counters_.send.tx_full++;
    if (!no_room_since_)
        no_room_since_ = now;
    const std::chrono::nanoseconds waited(now - *no_room_since_);
    if (waited > writer.patience()) {
        no_room_since_.reset();
        refuse(ENOBUFS);
        return Step::packets;
    }
    return Step::room;
}

/// Counts the burst's next packets, which the writer has taken.
void DatagramSender::taken(std::size_t packets) noexcept {
    for (const std::size_t end = first_ + packets; first_ != end; first_++) {
        const Datagram& d = burst_[first_];
        counters_.send.packets++;
        counters_.send.bytes += d.bytes;
        counters_.send.copied_packets++;
        Slot& s = slot(built_[first_].heap);
        if (--s.waiting == 0 && s.progress == Progress::built)
            s.progress = Progress::sent;
    }
}

/// Gives up the heap of the burst's next packet, which the writer has refused.
void DatagramSender::refuse(int error) noexcept {
    give_up(built_[first_].heap, Progress::refused, error);
    drop_given_up();
}

/// Marks the heap's packets in the burst; drop_given_up() follows.
void DatagramSender::give_up(std::uint64_t number, Progress progress, int error) noexcept {
    Slot& s = slot(number);
    s.progress = progress;
    s.error = error;
    for (std::size_t i = first_; i < end_; i++)
        built_[i].given_up |= built_[i].heap == number;
    const auto at = std::find(active_.begin(), active_.end(), number);
    if (at == active_.end())
        return;
    const auto place = static_cast<std::size_t>(at - active_.begin());
    active_.erase(at);
    if (turn_ > place)
        turn_--;
    if (turn_ >= active_.size())
        turn_ = 0;
}

/// Takes packets of heaps that were given up out of the burst. Its parts stay in order, with gaps: the rest
/// is moved together.
void DatagramSender::drop_given_up() noexcept {
    std::size_t to = first_;
    iovec* parts = first_ == end_ ? nullptr : burst_[first_].parts;
    for (std::size_t i = first_; i < end_; i++) {
        if (built_[i].given_up) {
            slot(built_[i].heap).waiting--;
            counters_.send.dropped++;
            continue;
        }
        Datagram d = burst_[i];
        std::copy(d.parts, d.parts + d.part_count, parts);
        d.parts = parts;
        parts += d.part_count;
        burst_[to] = d;
        built_[to++] = built_[i];
    }
    end_ = to;
    // The writer's patience is with the packets of one burst.
    if (first_ == end_)
        no_room_since_.reset();
}

/// Gives up heaps whose time is over. Deadlines are in the order of submission.
void DatagramSender::time_out(std::uint64_t now) noexcept {
    next_deadline_ = UINT64_MAX;
    const std::uint64_t end = submitted_.load(std::memory_order_acquire);
    for (std::uint64_t i = completed_.load(std::memory_order_relaxed); i != end; i++) {
        const Slot& s = slot(i);
        if (s.progress > Progress::built || s.deadline == 0)
            continue;
        if (now < s.deadline) {
            next_deadline_ = s.deadline;
            break;
        }
        give_up(i, Progress::timed_out, 0);
    }
    drop_given_up();
}

/// Aborts everything. Returns whether something was completed.
bool DatagramSender::stop_all() noexcept {
    const std::uint64_t end = submitted_.load(std::memory_order_acquire);
    for (std::uint64_t i = completed_.load(std::memory_order_relaxed); i != end; i++)
        if (slot(i).progress <= Progress::built)
            give_up(i, Progress::aborted, 0);
    drop_given_up();
    begun_ = end;
    return publish();
}

/// Completes the oldest heaps that have ended. Returns whether there were any.
bool DatagramSender::publish() noexcept {
    const std::uint64_t before = completed_.load(std::memory_order_relaxed);
    const std::uint64_t end = submitted_.load(std::memory_order_acquire);
    std::uint64_t now = before;
    for (; now != end && slot(now).progress > Progress::built; now++) {
        const Slot& s = slot(now);
        switch (s.progress) {
            case Progress::sent:
                (s.submission.control ? counters_.send.control_heaps : counters_.send.heaps)++;
                break;
            case Progress::timed_out:
                counters_.send.timed_out++;
                break;
            case Progress::refused:
                counters_.refused++;
                break;
            default:
                counters_.send.aborted++;
        }
    }
    if (now == before)
        return false;
    begun_ = std::max(begun_, now);
    completed_.store(now, std::memory_order_release);
    if (event_)
        event_->announce();
    return true;
}

}  // namespace spead::send
