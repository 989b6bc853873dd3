// SPDX-License-Identifier: BSD-3-Clause
#include "recv/gathering.hpp"

#include <utility>

#include <rte_mbuf.h>

#include "base/tick_rate.hpp"
#include "recv/mbufs.hpp"

namespace spead::recv {

Gathering::Gathering(std::shared_ptr<gather::Channel> channel)
    : channel_(std::move(channel)),
      close_after_(static_cast<std::uint64_t>(ticks_per_second() * kCloseMicroseconds / 1e6)) {}

bool Gathering::has_room() noexcept {
    if (discards_) [[unlikely]]
        return true;
    if (out_ + kBurst > most_.load(std::memory_order_relaxed)) [[unlikely]]
        return false;
    if (open_ == nullptr) {
        if (channel_->free_batches() == 0) [[unlikely]]
            return false;
        open_ = &channel_->open();
    }
    return channel_->free_batches() != 0 ||
           (open_->packets_left() >= kBurst && open_->pieces_left() >= kBurst);
}

bool Gathering::fits(std::uint32_t segments) noexcept {
    if (discards_ || open_->pieces_left() >= segments + kBurst)
        return true;
    if (channel_->free_batches() == 0)
        return false;
    submit();
    return true;
}

void Gathering::submit() noexcept {
    // Batches and tickets count alike, from 1.
    tickets_.close();
    channel_->submit(*open_);
    submitted_ = open_->number;
    open_ = channel_->free_batches() != 0 ? &channel_->open() : nullptr;
}

void Gathering::free_packets(gather::Batch& b) noexcept {
    out_ -= b.mbufs;
    free_burst<gather::Batch::kMaxPackets>(reinterpret_cast<rte_mbuf**>(b.packets.data()),
                                           static_cast<std::uint16_t>(b.packet_count),
                                           static_cast<rte_mempool*>(b.pool));
    b.clear();
}

/// Frees the packets of batches that are done.
void Gathering::collect() noexcept {
    std::uint64_t last = 0;
    while (gather::Batch* const b = channel_->oldest_done()) {
        collected_ = last = b->number;
        free_packets(*b);
        channel_->free_oldest();
    }
    if (last != 0)
        tickets_.done(last);
}

void Gathering::advance(std::uint64_t now) noexcept {
    now_ = now;
    if (channel_->state() != gather::Channel::State::running) [[unlikely]]
        look_at_engine();
    if (!discards_ && open_ != nullptr && !open_->empty() && now - open_->opened >= close_after_)
        submit();
    collect();
}

/// Takes notice that the engine has failed, or was stopped.
[[gnu::noinline]] void Gathering::look_at_engine() noexcept {
    discards_ = true;
    if (over_ || channel_->state() != gather::Channel::State::ended)
        return;
    over_ = true;
    collect();
    // The open batch is the last of them.
    while (gather::Batch* const b = channel_->oldest()) {
        free_packets(*b);
        channel_->free_oldest();
    }
    open_ = nullptr;
    tickets_.fail();
}

void Gathering::mark() noexcept {
    if (!discards_ && open_ != nullptr && !open_->empty())
        submit();
    marked_ = submitted_;
}

bool Gathering::finish(std::uint64_t now) noexcept {
    if (!discards_ && open_ != nullptr && !open_->empty())
        submit();
    advance(now);
    return over_ || !any_out();
}

void Gathering::give_up() noexcept {
    advance(now_);
    if (over_ || !any_out())
        return;
    discards_ = over_ = true;
    // The engine has never seen the open batch.
    if (open_ != nullptr)
        free_packets(*open_);
    for (const gather::Batch& b : channel_->batches())
        packets_lost_ += b.packet_count;
    tickets_.fail();
}

}  // namespace spead::recv
