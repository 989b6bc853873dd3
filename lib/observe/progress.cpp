// SPDX-License-Identifier: BSD-3-Clause
#include "observe/progress.hpp"

#include <algorithm>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/log_stream.hpp"
#include "base/units.hpp"

namespace spead::observe {

namespace {

std::size_t terminal_columns(const LineOutput& out) {
    winsize size{};
    if (ioctl(out.fd(), TIOCGWINSZ, &size) != 0 || size.ws_col < 2)
        return 80;
    return size.ws_col;
}

}  // namespace

ProgressSample progress_sample(const stats::Snapshot& snapshot) {
    ProgressSample sample;
    sample.time_s = snapshot.duration_s;
    sample.receives = !snapshot.streams.empty();
    sample.sends = !snapshot.sends.empty();
    for (const stats::StreamSnapshot& s : snapshot.streams) {
        sample.rx_bytes += s.bytes;
        sample.rx_packets += s.received;
        for (std::size_t i = 0; i < kHeapEnds; i++) {
            const bool complete = i == static_cast<std::size_t>(HeapEnd::complete);
            (complete ? sample.heaps_complete : sample.heaps_incomplete) += s.heaps_ended[i];
        }
        sample.heaps_dropped += s.heaps_dropped_full;
        sample.heaps_unwritten += s.heaps_unwritten;
        sample.heaps_wrong += s.heaps_wrong;
    }
    for (const stats::SendSnapshot& s : snapshot.sends) {
        sample.tx_bytes += s.counters.bytes;
        sample.tx_packets += s.counters.packets;
        sample.tx_heaps += s.counters.heaps;
    }
    for (const stats::PortSnapshot& p : snapshot.ports)
        sample.missed += p.nic.missed;
    for (const stats::LcoreSnapshot& l : snapshot.lcores)
        if (l.silent_s > 0)
            sample.silent += fmt::format("{}{}", sample.silent.empty() ? "lcore " : ", ", l.lcore);
    for (const stats::EngineSnapshot& e : snapshot.engines)
        if (e.stalled_s > 0)
            sample.stalled = e.name;
    return sample;
}

std::string progress_line(const ProgressSample& from, const ProgressSample& to) {
    const double seconds = to.time_s - from.time_s;
    const auto rate = [&](std::uint64_t before, std::uint64_t after) {
        return seconds > 0 && after >= before ? static_cast<double>(after - before) / seconds : 0.0;
    };
    std::string line = fmt::format("{:.1f} s", to.time_s);
    const auto if_any = [&](std::uint64_t count, std::string_view what) {
        if (count > 0)
            line += fmt::format(", {} {}", human_count(count), what);
    };
    if (!to.silent.empty())
        line += fmt::format(" | {} DOES NOT ANSWER", to.silent);
    if (!to.stalled.empty())
        line += fmt::format(" | engine {} STANDS STILL", to.stalled);
    if (to.receives) {
        line += fmt::format(" | rx {}, {}, {} {}", human_bit_rate(rate(from.rx_bytes, to.rx_bytes)),
                            human_packet_rate(rate(from.rx_packets, to.rx_packets)),
                            human_count(to.heaps_complete), noun_for(to.heaps_complete, "heaps"));
        if_any(to.heaps_incomplete, "incomplete");
        if_any(to.heaps_dropped, "dropped");
        if_any(to.heaps_unwritten, "NOT WRITTEN");
        if_any(to.heaps_wrong, "WRONG");
        if_any(to.missed, "packets missed");
    }
    if (to.sends)
        line += fmt::format(" | tx {}, {}, {} {}", human_bit_rate(rate(from.tx_bytes, to.tx_bytes)),
                            human_packet_rate(rate(from.tx_packets, to.tx_packets)), human_count(to.tx_heaps),
                            noun_for(to.tx_heaps, "heaps"));
    return line;
}

Progress::Progress(bool wanted, LineOutput& out) : out_(wanted && isatty(out.fd()) == 1 ? &out : nullptr) {
    if (out_ == nullptr)
        return;
    LogStream::install();
    LogStream::redirect([this](int, std::string_view line) { above(line); });
}

Progress::~Progress() {
    finish();
}

void Progress::update(const stats::Snapshot& snapshot) {
    if (out_ == nullptr)
        return;
    samples_.push_back(progress_sample(snapshot));
    while (samples_.size() > 2 && samples_[1].time_s <= samples_.back().time_s - kWindow)
        samples_.pop_front();
    std::string line = progress_line(samples_.front(), samples_.back());
    // One column short of the edge, where some terminals wrap.
    line.resize(std::min(line.size(), terminal_columns(*out_) - 1));
    const std::lock_guard lock(mutex_);
    draw(std::move(line));
}

/// Draws the line, with blanks over the rest of a longer one. A terminal that has not taken earlier output
/// gets no more.
void Progress::draw(std::string line) {
    if (!out_->flush())
        return;
    out_->put(fmt::format("\r{:<{}}", line, shown_.size()));
    shown_ = std::move(line);
}

/// Returns the text that erases the line.
std::string Progress::erased() const {
    return shown_.empty() ? std::string() : fmt::format("\r{}\r", std::string(shown_.size(), ' '));
}

void Progress::above(std::string_view line) {
    const std::lock_guard lock(mutex_);
    out_->put(fmt::format("{}{}\n\r{}", erased(), line, shown_));
}

void Progress::finish() {
    if (out_ == nullptr)
        return;
    // When this returns, above() is no longer called.
    LogStream::redirect({});
    const std::lock_guard lock(mutex_);
    if (const std::string blank = erased(); !blank.empty())
        out_->put(blank);
    shown_.clear();
    out_ = nullptr;
}

}  // namespace spead::observe
