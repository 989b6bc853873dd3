// SPDX-License-Identifier: BSD-3-Clause
#include "replay/player.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/core.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "port/sizes.hpp"

namespace spead::replay {

namespace {

const char* const kWhere = "replay";
constexpr std::uint16_t kCache = 128;
/// Holds the room of an mbuf that only refers to its frame.
constexpr std::uint32_t kNoRoom = port::kHeadroom;

/// Returns the mbufs for the queue, for the driver's kept ones, and for those that caches withhold.
std::uint32_t mbufs_of(const Player::Config& c) {
    return c.descriptors + c.capabilities.late_free_segments + 3U * kCache;
}
std::uint32_t room_of(const Player::Config& c, bool external) {
    return external ? kNoRoom : port::data_room_of(c.longest_frame);
}

send::Pacing pacing(const Player::Config& c) {
    send::Pacing p;
    p.rate = c.rate;
    // A packet counts as a byte where packets are counted.
    p.burst_size = c.timing == Timing::packets ? 16 : 65536;
    return p;
}

}  // namespace

std::size_t Player::memory_need(const Config& config) {
    // In physical addresses, which are known only once EAL runs, even a port that could refers to nothing.
    return port::pool_bytes_of(mbufs_of(config), room_of(config, false), kCache) +
           send::SpscRing<Play>::memory(static_cast<std::uint32_t>(config.windows)) +
           send::SpscRing<Done>::memory(static_cast<std::uint32_t>(config.windows));
}

Player::Player(const Config& config)
    : config_(config),
      external_(config.capabilities.tx_external_buffer && rte_eal_iova_mode() == RTE_IOVA_VA),
      ticks_per_ns_(config.hz / 1e9 / config.speed),
      pacer_(config.hz, pacing(config)),
      outage_(config.hz),
      plays_(static_cast<std::uint32_t>(config.windows), config.numa, kWhere),
      done_(static_cast<std::uint32_t>(config.windows), config.numa, kWhere) {
    static std::atomic<unsigned> number{0};
    const std::string name = fmt::format("replay_{}", number.fetch_add(1));
    pool_ = rte_pktmbuf_pool_create(name.c_str(), mbufs_of(config), kCache, 0,
                                    static_cast<std::uint16_t>(room_of(config, external_)), config.numa);
    if (pool_ == nullptr)
        throw_error(kWhere, "no memory for {} mbufs of {} bytes: {}; give EAL more memory (-m)",
                    mbufs_of(config), room_of(config, external_), rte_strerror(rte_errno));
}

Player::~Player() {
    if (mbufs_out() == 0)
        rte_mempool_free(pool_);
    else
        log_warning(LogType::send, "replay: {} did not come back; the pool stays allocated",
                    counted(mbufs_out(), "mbufs"));
}

std::size_t Player::mbufs_out() const noexcept {
    return rte_mempool_in_use_count(pool_);
}

CaptureWindow* Player::done() noexcept {
    Done d;
    return done_.pop({&d, 1}) == 0 ? nullptr : d.window;
}

/// Ensures that there is a frame to be sent.
bool Player::next_window() noexcept {
    while (current_.window == nullptr || at_ == current_.window->frames.size()) {
        if (current_.window != nullptr) {
            window_done();
            continue;
        }
        if (plays_.pop({&current_, 1}) == 0) {
            counters_.starved += begun_ && !starving_ && !ended_.load(std::memory_order_relaxed);
            starving_ = true;
            return false;
        }
        starving_ = false;
        at_ = 0;
    }
    return true;
}

void Player::window_done() noexcept {
    counters_.passes += current_.ends_pass;
    at_ = 0;
    if (current_.passes > 0)
        current_.passes--;
    // Otherwise it would send nothing without end.
    if (current_.passes != 0 && !current_.window->frames.empty() &&
        !abandoned_.load(std::memory_order_relaxed)) {
        current_.later_ns += current_.period_ns;
        return;
    }
    current_.window->refs.close();
    const Done done{current_.window};
    done_.push({&done, 1});
    current_.window = nullptr;
}

bool Player::due(const Frame& frame, std::uint64_t now) noexcept {
    next_time_ = 0;
    if (config_.timing == Timing::greedy)
        return true;
    if (config_.timing != Timing::original) {
        if (pacer_.ready(now))
            return true;
        next_time_ = pacer_.next_time();
        return false;
    }
    const auto ticks =
        static_cast<std::uint64_t>(static_cast<double>(current_.later_ns + frame.time_ns) * ticks_per_ns_);
    if (!begun_)
        start_ = now - ticks;
    next_time_ = start_ + ticks;
    return now >= next_time_;
}

/// Makes a packet. Returns null when there is no mbuf or no reference.
rte_mbuf* Player::make(const Frame& frame) noexcept {
    rte_mbuf_ext_shared_info* const info = external_ ? current_.window->refs.reserve(1) : nullptr;
    if (external_ && info == nullptr)
        return nullptr;
    rte_mbuf* const m = rte_pktmbuf_alloc(pool_);
    if (m == nullptr)
        return nullptr;
    std::byte* const at = current_.window->base + frame.offset;
    const auto length = static_cast<std::uint16_t>(frame.length);
    if (external_) {
        // IO addresses are virtual ones.
        rte_pktmbuf_attach_extbuf(m, at, reinterpret_cast<rte_iova_t>(at), length, info);
        current_.window->refs.attached(1);
    } else {
        std::memcpy(rte_pktmbuf_mtod(m, std::byte*), at, length);
    }
    m->data_len = length;
    m->pkt_len = length;
    return m;
}

void Player::build(std::uint64_t now) noexcept {
    while (count_ < kBurst && next_window()) {
        const Frame& frame = current_.window->frames[at_];
        if (!due(frame, now))
            return;
        rte_mbuf* const m = make(frame);
        if (m == nullptr) {
            counters_.stalls++;
            if (config_.queue.reap != nullptr)
                config_.queue.reap(config_.queue.context, config_.queue.queue);
            return;
        }
        if (config_.timing == Timing::bytes)
            pacer_.charge(frame.length);
        else if (config_.timing == Timing::packets)
            pacer_.charge(1);
        lateness_[count_] =
            config_.timing == Timing::original && begun_
                ? static_cast<std::uint64_t>(static_cast<double>(now - next_time_) * 1e9 / config_.hz)
                : 0;
        begun_ = true;
        waiting_[count_++] = m;
        at_++;
    }
}

bool Player::transmit(std::uint64_t now) noexcept {
    if (first_ == count_)
        return false;
    std::uint64_t bytes = 0;
    // Lengths are read before the driver has the mbufs.
    std::array<std::uint32_t, kBurst> lengths;
    for (std::uint32_t i = first_; i < count_; i++)
        lengths[i] = waiting_[i]->pkt_len;
    const std::uint16_t sent =
        config_.queue.tx_burst(&waiting_[first_], static_cast<std::uint16_t>(count_ - first_));
    for (std::uint32_t i = first_; i < first_ + sent; i++) {
        bytes += lengths[i];
        counters_.late += lateness_[i] > kLate;
        counters_.most_late_ns = std::max(counters_.most_late_ns, lateness_[i]);
    }
    counters_.packets += sent;
    counters_.bytes += bytes;
    counters_.zero_copy += external_ ? sent : 0U;
    first_ += sent;
    if (sent == 0) {
        outage_.refused(now);
    } else if (outage_.begun()) [[unlikely]] {
        // Data that could not be sent in that time is not caught up.
        if (outage_.lasts())
            pacer_.restart();
        outage_.end();
    }
    if (first_ == count_)
        first_ = count_ = 0;
    else
        counters_.tx_full++;
    return sent != 0;
}

void Player::give_up() noexcept {
    if (first_ != count_)
        rte_pktmbuf_free_bulk(&waiting_[first_], count_ - first_);
    first_ = count_ = 0;
    if (current_.window != nullptr) {
        current_.passes = 1;
        current_.ends_pass = false;
        window_done();
    }
    for (Play play; plays_.pop({&play, 1}) != 0;) {
        const Done done{play.window};
        done_.push({&done, 1});
    }
}

bool Player::poll(std::uint64_t now) noexcept {
    if (finished_.load(std::memory_order_relaxed))
        return false;
    if (abandoned_.load(std::memory_order_acquire)) {
        give_up();
        finished_.store(true, std::memory_order_release);
        return true;
    }
    const bool ended = ended_.load(std::memory_order_acquire);
    if (first_ == count_)
        build(now);
    const bool sent = transmit(now);
    if (ended && current_.window == nullptr && first_ == count_ && !next_window() && first_ == count_)
        finished_.store(true, std::memory_order_release);
    return sent;
}

}  // namespace spead::replay
