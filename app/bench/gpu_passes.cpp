// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/gpu_passes.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <random>
#include <span>
#include <thread>

#include "base/error.hpp"
#include "gpu/uploader.hpp"

namespace spead::app {

namespace {

using Clock = std::chrono::steady_clock;

/// Counts the bytes of a buffer before the payload: its bookkeeping, the headroom, the headers of Ethernet,
/// IPv4, UDP and SPEAD with four items.
constexpr std::uint64_t kBefore = 128 + 128 + 42 + 40;
constexpr std::uint64_t kSlotAlignment = 64;
/// Counts the packets among which the order of arrival is not that of the heaps.
constexpr std::size_t kShuffled = 1024;
constexpr std::chrono::seconds kPatience{20};

[[noreturn]] void throw_standstill() {
    throw_error(
        "GPU",
        "it has done nothing for {} s; another program may hold it (nvidia-smi), or it has failed (the "
        "kernel's log)",
        kPatience.count());
}

std::uint64_t slot_bytes(std::uint32_t payload) {
    return (kBefore + payload + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

/// Returns a word that differs from that of every other place (splitmix64).
std::uint64_t pattern(std::uint64_t place) {
    std::uint64_t x = place + 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

std::uint64_t wrong_bytes(const std::byte* got, const std::byte* expected, std::size_t length) {
    if (std::memcmp(got, expected, length) == 0)
        return 0;
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < length; i++)
        wrong += got[i] != expected[i];
    return wrong;
}

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

GpuPasses::GpuPasses(const gpu::ContextPointer& context, std::uint64_t set, std::uint32_t streams)
    : context_(context),
      set_(set),
      packets_(context, set),
      fetched_(context, set),
      pieces_(context, set / slot_bytes(1) * sizeof(gather::Piece) + 1),
      words_(context, streams * 64),
      heaps_(context, set),
      device_packets_(context, set),
      kernel_(context),
      copy_engine_(context, gpu::Gatherer::Way::copy_engine) {
    auto* const words = reinterpret_cast<std::uint64_t*>(packets_.mapping.base());
    for (std::uint64_t i = 0; i < set / 8; i++)
        words[i] = pattern(i);
    for (unsigned i = 0; i < streams; i++) {
        lanes_.push_back(std::make_unique<Lane>(context));
        std::byte* const word = words_.mapping.base() + std::size_t{i} * 64;
        lanes_[i]->done = new (word) std::atomic<std::uint32_t>(0);
        lanes_[i]->word = words_.registered.address_of(word);
    }
}

double GpuPasses::rate_of(double seconds, std::uint64_t bytes, const std::function<void()>& pass) {
    pass();
    finish();
    const Clock::time_point begin = Clock::now();
    std::uint64_t passes = 0;
    do {
        pass();
        passes++;
        // Never more than a pass or two with the driver.
        if (passes % 2 == 0)
            finish();
    } while (seconds_since(begin) < seconds);
    finish();
    return static_cast<double>(passes * bytes) / seconds_since(begin);
}

void GpuPasses::finish() {
    const Clock::time_point last = Clock::now() + kPatience;
    for (const auto& lane : lanes_)
        while (!lane->stream.idle())
            if (Clock::now() >= last)
                throw_standstill();
}

double GpuPasses::upload_limit(double seconds) {
    return rate_of(seconds, set_,
                   [&] { lanes_[0]->stream.upload(heaps_.address(), packets_.mapping.base(), set_); });
}

double GpuPasses::read_limit(double seconds) {
    return rate_of(seconds, set_,
                   [&] { kernel_.read(lanes_[0]->stream, packets_.address(), set_ / 16, heaps_.address()); });
}

double GpuPasses::copy_limit(double seconds) {
    constexpr unsigned kAtOnce = 16;
    return rate_of(seconds, 2 * kAtOnce * set_, [&] {
        for (unsigned i = 0; i < kAtOnce; i++)
            lanes_[0]->stream.copy(heaps_.address(), device_packets_.address(), set_);
    });
}

void GpuPasses::upload_chunks(std::uint64_t size, unsigned in_flight, const std::function<bool()>& more) {
    gpu::Uploader uploader(context_, in_flight);
    gpu::Uploader::Ticket last = 0;
    do {
        for (std::uint64_t at = 0; at + size <= set_; at += size) {
            last = uploader.submit({packets_.mapping.base() + at, heaps_.address() + at, size});
            if (last == 0)
                throw_error("GPU", "{}", uploader.error().value_or("the uploader took no more chunks"));
        }
        if (!uploader.wait(last, kPatience))
            throw_error("GPU", "{}", uploader.error().value_or("chunks were not uploaded within 20 s"));
    } while (more());
}

double GpuPasses::chunks(std::uint64_t size, unsigned in_flight, double seconds) {
    const Clock::time_point begin = Clock::now();
    std::uint64_t passes = 0;
    double took = 0;
    upload_chunks(size, in_flight, [&] {
        passes++;
        took = seconds_since(begin);
        return took < seconds;
    });
    return static_cast<double>(passes * (set_ / size * size)) / took;
}

void GpuPasses::spoil() {
    lanes_[0]->stream.fill(heaps_.address(), std::byte{0xee}, set_);
    finish();
}

std::uint64_t GpuPasses::wrong_in_chunks(std::uint64_t size, unsigned in_flight) {
    spoil();
    upload_chunks(size, in_flight, [] { return false; });
    lanes_[0]->stream.download(fetched_.mapping.base(), heaps_.address(), set_);
    finish();
    return wrong_bytes(fetched_.mapping.base(), packets_.mapping.base(), set_ / size * size);
}

void GpuPasses::upload_packets() {
    if (packets_on_device_)
        return;
    lanes_[0]->stream.upload(device_packets_.address(), packets_.mapping.base(), set_);
    finish();
    packets_on_device_ = true;
}

std::size_t GpuPasses::list(const Packets& packets) {
    if (packets.payload == listed_.payload && packets.source == listed_.source)
        return listed_count_;
    if (packets.source == Source::device)
        upload_packets();
    const gpu::cuda::DevicePointer from =
        packets.source == Source::device ? device_packets_.address() : packets_.address();
    const std::uint64_t slot = slot_bytes(packets.payload);
    const std::size_t count = set_ / slot;
    std::vector<std::size_t> places(count);
    for (std::size_t i = 0; i < count; i++)
        places[i] = i;
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < count; i += kShuffled)
        std::shuffle(places.begin() + static_cast<std::ptrdiff_t>(i),
                     places.begin() + static_cast<std::ptrdiff_t>(std::min(count, i + kShuffled)), random);
    auto* const pieces = reinterpret_cast<gather::Piece*>(pieces_.mapping.base());
    for (std::size_t i = 0; i < count; i++)
        pieces[i] = {std::bit_cast<const std::byte*>(from + i * slot + kBefore),
                     std::bit_cast<std::byte*>(heaps_.address() + places[i] * packets.payload),
                     packets.payload, 0};
    listed_ = packets;
    listed_count_ = count;
    return count;
}

const gpu::Gatherer& GpuPasses::gatherer(gpu::Gatherer::Way way) const {
    return way == gpu::Gatherer::Way::copy_engine ? copy_engine_ : kernel_;
}

void GpuPasses::launch(Lane& lane, const gpu::Gatherer& gatherer, std::size_t first, std::size_t count) {
    const auto* const pieces = reinterpret_cast<const gather::Piece*>(pieces_.mapping.base());
    const Clock::time_point last = Clock::now() + kPatience;
    while (lane.begun - lane.done->load(std::memory_order_acquire) >= kInFlight)
        if (!lane.stream.idle() && Clock::now() >= last)
            throw_standstill();
    gatherer.gather(lane.stream, {pieces + first, count}, pieces_.registered.address_of(pieces + first));
    lane.stream.write(lane.word, ++lane.begun);
}

void GpuPasses::gather_once(const Packets& packets, std::size_t count) {
    std::size_t lane = 0;
    for (std::size_t first = 0; first < count; first += packets.batch)
        launch(*lanes_[lane++ % lanes_.size()], gatherer(packets.way), first,
               std::min<std::size_t>(packets.batch, count - first));
}

double GpuPasses::gather(const Packets& packets, double seconds) {
    const std::size_t count = list(packets);
    return rate_of(seconds, std::uint64_t{count} * packets.payload, [&] { gather_once(packets, count); });
}

std::uint64_t GpuPasses::wrong_in_gather(const Packets& packets) {
    const std::size_t count = list(packets);
    spoil();
    gather_once(packets, count);
    finish();
    lanes_[0]->stream.download(fetched_.mapping.base(), heaps_.address(), set_);
    finish();
    const auto* const pieces = reinterpret_cast<const gather::Piece*>(pieces_.mapping.base());
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < count; i++)
        wrong +=
            wrong_bytes(fetched_.mapping.base() +
                            (std::bit_cast<gpu::cuda::DevicePointer>(pieces[i].to) - heaps_.address()),
                        packets_.mapping.base() + i * slot_bytes(packets.payload) + kBefore, packets.payload);
    // Behind them nothing was written.
    for (std::size_t i = count * packets.payload; i < set_; i++)
        wrong += fetched_.mapping.base()[i] != std::byte{0xee};
    return wrong;
}

GpuPasses::Times GpuPasses::batch_times(const Packets& packets, unsigned samples, double seconds) {
    const std::size_t count = std::min<std::size_t>(list(packets), packets.batch);
    std::vector<double> times;
    Lane& lane = *lanes_[0];
    finish();
    const Clock::time_point start = Clock::now();
    for (unsigned i = 0; i < samples && (i == 0 || seconds_since(start) < seconds); i++) {
        const Clock::time_point begin = Clock::now();
        launch(lane, gatherer(packets.way), 0, count);
        while (lane.done->load(std::memory_order_acquire) != lane.begun && seconds_since(begin) < 1) {
        }
        times.push_back(seconds_since(begin));
    }
    finish();
    std::ranges::sort(times);
    return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

}  // namespace spead::app
