// SPDX-License-Identifier: BSD-3-Clause
#include "capture/capture.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/file_use.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "base/units.hpp"
#include "capture/pcap_format.hpp"

namespace spead::capture {

namespace {

/// Holds the least size of a block: enough for the longest record and for efficient writes, and small enough
/// for several blocks.
constexpr std::uint64_t kLeastBlock = std::uint64_t{128} << 10;
constexpr std::uint64_t kMostBlock = std::uint64_t{1} << 20;
static_assert(kLeastBlock >= kPcapRecordHeader + kLongestRecord);
/// Holds the blocks that each lcore should have at least: one being filled, some on their way.
constexpr std::uint64_t kBlocks = 8;
/// Holds the packets that an lcore takes at once.
constexpr std::uint64_t kBurst = 64;
/// Limits the time before a packet is on its way to the file.
constexpr double kFlushSeconds = 0.1;
/// Holds the sleep of an idle writer; a buffer of the default size holds several times of it at 100 Gb/s.
constexpr std::chrono::microseconds kShortestNap{100};
constexpr std::chrono::microseconds kLongestNap{1600};

/// Refuses files that are in use, before any of them is truncated.
void refuse_files_in_use(const Options& options, const std::string& where) {
    std::vector<FileUse> uses;
    for (const std::string& file : options.files)
        uses.emplace_back(PcapSeries::first_name(file, options), FileUse::Way::write,
                          fmt::format("the {} writes", where), where);
}

/// Warns of files of an earlier capture with rotation. Those that the new one does not reach would pass for
/// files of the new one.
void warn_of_earlier_series(const Options& options, const std::string& where) {
    if (!options.rotates())
        return;
    for (const std::string& file : options.files)
        if (const std::vector<std::string> later = PcapSeries::later_files(file); !later.empty())
            log_warning(
                LogType::recv,
                "{}: {} of an earlier capture {} there, the last {}; this one overwrites the names that it "
                "reaches and leaves the others: remove them, or name another file",
                where, counted(later.size(), "files"), word_for(later.size(), "is", "are"), later.back());
}

}  // namespace

std::uint64_t Capture::least_buffer(std::size_t taps, std::size_t files) noexcept {
    return (files + 1) * taps * kLeastBlock;
}

Capture::Capture(const std::string& stream, const Options& options, std::size_t taps, std::uint64_t hz,
                 std::function<void()> on_thread, std::uint32_t wait_for)
    : stream_(stream), only_(options.only), duration_(options.duration), on_thread_(std::move(on_thread)) {
    const std::string where = "capture of " + stream;
    if (taps == 0 || options.files.empty())
        throw_error(where, "it has no {}", taps == 0 ? "lcore" : "file");
    const std::uint64_t least = least_buffer(taps, options.files.size());
    if (options.buffer < least)
        throw_error(where, "a buffer of {} is too small for {} and {}; give at least {}",
                    human_size(options.buffer), counted(taps, "lcores"),
                    counted(options.files.size(), "files"), human_size(least));
    refuse_files_in_use(options, where);
    warn_of_earlier_series(options, where);
    limit_.counted = options.count != 0;
    limit_.left = static_cast<std::int64_t>(options.count);
    memory_ = memory::Mapping(options.buffer);
    const std::uint64_t share = options.buffer / taps;
    const std::uint64_t block = std::clamp(share / kBlocks / 4096 * 4096, kLeastBlock, kMostBlock);
    const std::size_t blocks = share / block;
    const std::uint64_t records = block / (kPcapRecordHeader + std::min(wait_for, options.snap_length));
    const std::size_t reserve = wait_for == 0 ? 0 : (kBurst + records - 1) / records;
    if (reserve >= blocks)
        throw_error(where, "a buffer of {} is too small for a source that waits; give at least {}",
                    human_size(options.buffer), human_size((reserve + 1) * block * taps));
    for (std::size_t i = 0; i < taps; i++)
        taps_.emplace_back(memory_.base() + i * share, static_cast<std::uint32_t>(block), blocks,
                           options.files.size(), options.snap_length, options.only, limit_,
                           static_cast<std::uint64_t>(kFlushSeconds * static_cast<double>(hz)), reserve);
    for (const std::string& file : options.files) {
        Writer& writer = writers_.emplace_back();
        writer.series = std::make_unique<PcapSeries>(file, options, where);
        publish(writer);
        for (Tap& tap : taps_)
            writer.ways.push_back(&tap.ways()[writers_.size() - 1]);
    }
    try {
        for (Writer& writer : writers_)
            writer.thread = start_thread(where, [this, &writer] { run(writer); });
    } catch (...) {
        finish();
        throw;
    }
}

Capture::~Capture() {
    finish();
}

bool Capture::out_of_time() const noexcept {
    return duration_ > 0 && std::chrono::duration<double>(Clock::now() - begun_).count() >= duration_;
}

void Capture::close() noexcept {
    limit_.over.store(true, std::memory_order_release);
}

void Capture::publish(Writer& writer) {
    writer.files.store(writer.series->files(), std::memory_order_relaxed);
    writer.bytes.store(writer.series->bytes(), std::memory_order_relaxed);
    writer.packets.store(writer.series->packets(), std::memory_order_release);
}

void Capture::fail(Writer& writer) {
    writer.failed.store(true, std::memory_order_release);
    limit_.over.store(true, std::memory_order_release);
    const std::lock_guard lock(mutex_);
    const std::string text =
        fmt::format("cannot write the capture file {}: {}", writer.series->path(), writer.series->failure());
    if (failure_.find(text) != std::string::npos)
        return;
    failure_ += (failure_.empty() ? "" : "; ") + text +
                fmt::format("; the files keep {} ({}), which can be read",
                            counted(writer.series->packets(), "packets"), human_size(writer.series->bytes()));
}

/// Takes one block from each tap. Those for a file that failed are thrown away.
bool Capture::take(Writer& writer) {
    bool any = false;
    for (Tap::Way* const way : writer.ways) {
        Block* const block = way->there.pop();
        if (block == nullptr)
            continue;
        any = true;
        const bool written = writer.series->write({block->data, block->used}, block->packets);
        const std::uint32_t packets = block->packets;
        way->back.push(block);
        writer.given.fetch_add(packets, std::memory_order_relaxed);
        publish(writer);
        if (!written)
            fail(writer);
    }
    return any;
}

void Capture::run(Writer& writer) {
    if (on_thread_)
        on_thread_();
    std::chrono::microseconds nap = kShortestNap;
    for (;;) {
        // Read first: blocks that were passed on before it was set are found below.
        const bool last = ending_.load(std::memory_order_acquire);
        if (take(writer)) {
            nap = kShortestNap;
        } else if (last) {
            break;
        } else {
            std::this_thread::sleep_for(nap);
            nap = std::min(nap * 2, kLongestNap);
        }
    }
    const bool whole = writer.series->finish();
    publish(writer);
    if (!whole)
        fail(writer);
    writer.done.store(true, std::memory_order_release);
}

std::string Capture::failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
}

std::optional<std::string> Capture::news() {
    const std::lock_guard lock(mutex_);
    if (failure_.empty() || reported_)
        return std::nullopt;
    reported_ = true;
    return failure_;
}

void Capture::end() noexcept {
    if (ending_.load(std::memory_order_relaxed))
        return;
    for (Tap& tap : taps_)
        tap.flush();
    ending_.store(true, std::memory_order_release);
}

bool Capture::ended() const noexcept {
    return std::all_of(writers_.begin(), writers_.end(),
                       [](const Writer& w) { return w.done.load(std::memory_order_acquire); });
}

void Capture::finish() {
    if (finished_)
        return;
    end();
    for (Writer& writer : writers_)
        if (writer.thread.joinable())
            writer.thread.join();
    limit_.over.store(true, std::memory_order_relaxed);
    finished_ = true;
    ended_ = Clock::now();
}

stats::CaptureSnapshot Capture::snapshot() const {
    stats::CaptureSnapshot s;
    s.stream = stream_;
    s.only = only_;
    s.over = over();
    s.ending = ending_.load(std::memory_order_relaxed);
    s.finished = finished_;
    s.failure = failure();
    s.seconds = std::chrono::duration<double>((finished_ ? ended_ : Clock::now()) - begun_).count();
    for (const Writer& writer : writers_) {
        // Read first: a file that failed has no more packets later.
        const bool failed = writer.failed.load(std::memory_order_acquire);
        const std::uint64_t packets = writer.packets.load(std::memory_order_acquire);
        const std::uint64_t given = writer.given.load(std::memory_order_relaxed);
        s.written += packets;
        // Between the two loads of a running writer nothing is lost, only more is given.
        s.unwritten += failed || finished_ ? given - packets : 0;
        s.files.push_back({writer.series->path(), writer.files.load(std::memory_order_relaxed), packets,
                           writer.bytes.load(std::memory_order_relaxed)});
    }
    return s;
}

void add(stats::CaptureSnapshot& snapshot, const TapCounters& counters) {
    snapshot.taken += counters.taken;
    snapshot.taken_bytes += counters.taken_bytes;
    snapshot.dropped_full += counters.dropped_full;
    snapshot.ended += counters.ended;
    snapshot.cut += counters.cut;
}

}  // namespace spead::capture
