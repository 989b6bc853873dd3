// SPDX-License-Identifier: BSD-3-Clause
#include "replay/replay.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/start_thread.hpp"

namespace spead::replay {

namespace {

const char* const kInReplay = "replay";
constexpr std::uint64_t kMostWindow = std::uint64_t{1} << 30;
/// Limits the windows, far above the number that memory is cut into.
constexpr std::size_t kMostWindows = 4096;
/// Holds the sleep of the reading thread; its events take longer than that.
constexpr std::chrono::microseconds kNap{200};

}  // namespace

Replay::Replay(const Options& options, std::uint32_t longest_frame)
    : options_(options),
      longest_frame_(longest_frame),
      loader_(options.files, options.order, options.rules, longest_frame, kInReplay) {
    // A window may end before a frame that it has no room for.
    const std::uint64_t most = std::min(std::max<std::uint64_t>(loader_.size(), 1), options.memory);
    const std::uint64_t windows = (most + kMostWindow - 1) / kMostWindow;
    resident_ = loader_.size() + windows * kLeastWindow <= options.memory;
    window_bytes_ = resident_ ? (loader_.size() / windows + kLeastWindow)
                              : std::min(options.memory / kWindows, kMostWindow * 2);
    const std::size_t count = resident_ ? windows : kWindows;
    if (window_bytes_ < kLeastWindow)
        throw_usage(kInReplay, "{} bytes of memory are too few for captures of {} bytes; give at least {}",
                    options.memory, loader_.size(), kWindows * kLeastWindow);
    for (std::size_t i = 0; i < count; i++)
        windows_.emplace_back();
    loader_.stop_with(stop_);
}

Replay::~Replay() {
    stop();
}

std::size_t Replay::memory_need(const port::Capabilities& capabilities, std::uint16_t descriptors,
                                std::uint32_t longest_frame) {
    Player::Config c;
    c.capabilities = capabilities;
    c.descriptors = descriptors;
    c.longest_frame = longest_frame;
    c.windows = kMostWindows;
    return Player::memory_need(c);
}

void Replay::prepare(const port::Port& port, const port::TxQueue& queue, double hz) {
    Player::Config c;
    c.queue = queue;
    c.capabilities = port.capabilities();
    c.descriptors = port.tx_sizes().descriptors;
    c.longest_frame = longest_frame_ == 0 ? 65535 : longest_frame_;
    c.timing = options_.timing;
    c.speed = options_.speed;
    c.rate = options_.rate;
    c.hz = hz;
    c.numa = port.socket_id();
    c.windows = windows_.size();
    player_ = std::make_unique<Player>(c);
    memory_ = memory::Mapping(window_bytes_ * windows_.size());
    std::byte* base = memory_.base();
    for (CaptureWindow& window : windows_) {
        window.base = base;
        window.capacity = window_bytes_;
        window.refs.initialise();
        base += window_bytes_;
    }
    if (player_->external()) {
        registration_ = std::make_unique<port::RegionRegistration>(memory_.base(), memory_.length());
        registration_->map(port);
    }
}

void Replay::start(std::function<void()> on_thread) {
    thread_ = start_thread(kInReplay, [this, run_first = std::move(on_thread)] {
        if (run_first)
            run_first();
        read();
    });
}

void Replay::read() {
    try {
        read_all();
    } catch (const std::exception& error) {
        const std::lock_guard lock(mutex_);
        so_far_.failure = error.what();
    }
    player_->end();
    waiting_.store(true, std::memory_order_relaxed);
}

void Replay::publish() {
    const std::lock_guard lock(mutex_);
    so_far_.warnings = loader_.warnings();
    so_far_.unmatched = loader_.unmatched();
    so_far_.counts = loader_.counts();
}

/// Waits for a window. Returns null when the run is to end.
CaptureWindow* Replay::wait_for_window() {
    waiting_.store(true, std::memory_order_relaxed);
    CaptureWindow* window = nullptr;
    while (!stop_.load(std::memory_order_relaxed) && (window = player_->done()) == nullptr)
        std::this_thread::sleep_for(kNap);
    waiting_.store(false, std::memory_order_relaxed);
    return window;
}

bool Replay::hand_over(CaptureWindow& window, std::uint64_t later, std::uint64_t period, std::int64_t passes,
                       bool ends) {
    const Play play{&window, later, period, passes, ends};
    while (!player_->play(play)) {
        if (stop_.load(std::memory_order_relaxed))
            return false;
        std::this_thread::sleep_for(kNap);
    }
    return true;
}

void Replay::read_all() {
    // As much as there is room for, before the first packet goes.
    std::size_t filled = 0;
    bool more = true;
    while (more && filled < windows_.size() && !stop_.load(std::memory_order_relaxed)) {
        more = loader_.fill(windows_[filled++]);
        publish();
    }
    if (stop_.load(std::memory_order_relaxed))
        return;
    std::int64_t left = options_.passes;
    if (resident_ && more)
        throw_error(kInReplay, "the captures have grown while they were read");
    if (resident_ && filled == 1) {
        hand_over(windows_[0], 0, loader_.period_ns(), left, true);
        return;
    }
    if (resident_) {
        std::uint64_t later = 0;
        std::size_t out = 0;
        for (; left != 0; left -= left > 0) {
            for (std::size_t i = 0; i < filled; i++, out++) {
                // They come back in order, and need not be drained: their frames stay what they are.
                if (out >= filled && wait_for_window() == nullptr)
                    return;
                if (!hand_over(windows_[i], later, 0, 1, i + 1 == filled))
                    return;
            }
            later += loader_.period_ns();
        }
        return;
    }
    std::size_t next = 0;
    for (;;) {
        // `next` .. `filled` wait to be handed over; the last one ends the pass unless there is more.
        for (; next < filled; next++)
            if (!hand_over(windows_[next], 0, 0, 1, !more && next + 1 == filled))
                return;
        if (!more) {
            left -= left > 0;
            if (left == 0 || loader_.counts().frames == 0)
                return;
            loader_.rewind();
        }
        CaptureWindow* const window = wait_for_window();
        if (window == nullptr)
            return;
        while (!window->refs.drained()) {
            if (stop_.load(std::memory_order_relaxed))
                return;
            std::this_thread::sleep_for(kNap);
        }
        more = loader_.fill(*window);
        publish();
        if (!hand_over(*window, 0, 0, 1, !more))
            return;
    }
}

bool Replay::finished() const noexcept {
    return player_->finished();
}

void Replay::stop() noexcept {
    stop_.store(true, std::memory_order_relaxed);
    if (player_ != nullptr && !player_->finished())
        player_->abandon();
    if (thread_.joinable())
        thread_.join();
}

std::string Replay::failure() const {
    const std::lock_guard lock(mutex_);
    return so_far_.failure;
}

bool Replay::damaged() const {
    const std::lock_guard lock(mutex_);
    return !so_far_.warnings.empty();
}

std::vector<std::string> Replay::warnings() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all = so_far_.warnings;
    const auto tell = [&](std::uint64_t count, const char* what) {
        if (count != 0)
            all.push_back(fmt::format("{} of the {} of a pass {}", count,
                                      counted(so_far_.counts.records, "records"), what));
    };
    tell(so_far_.counts.cut, "hold less than was on the wire (snap length) and are not sent");
    tell(so_far_.counts.runts, "are shorter than an Ethernet header and are not sent");
    if (so_far_.counts.too_long != 0)
        tell(so_far_.counts.too_long,
             fmt::format("are longer than {} bytes, the longest frame that the port sends (--mtu), and "
                         "are left out",
                         longest_frame_)
                 .c_str());
    tell(so_far_.counts.not_udp,
         "are no UDP datagrams of the new destination's IP version, so they cannot go there, and are not "
         "sent");
    if (so_far_.unmatched)
        all.push_back(*so_far_.unmatched);
    return all;
}

stats::ReplaySnapshot Replay::snapshot() const {
    stats::ReplaySnapshot s;
    s.files = options_.files;
    s.resident = resident_;
    const std::lock_guard lock(mutex_);
    s.records = so_far_.counts.records;
    s.frames = so_far_.counts.frames;
    s.cut = so_far_.counts.cut;
    s.runts = so_far_.counts.runts;
    s.too_long = so_far_.counts.too_long;
    s.not_udp = so_far_.counts.not_udp;
    return s;
}

void add(stats::ReplaySnapshot& snapshot, const PlayerCounters& counters) {
    snapshot.packets = counters.packets;
    snapshot.bytes = counters.bytes;
    snapshot.zero_copy = counters.zero_copy;
    snapshot.late = counters.late;
    snapshot.most_late_ns = counters.most_late_ns;
    snapshot.passes = counters.passes;
    snapshot.tx_full = counters.tx_full;
    snapshot.stalls = counters.stalls;
    snapshot.starved = counters.starved;
}

}  // namespace spead::replay
