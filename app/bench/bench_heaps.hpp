// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "memory/mapping.hpp"
#include "memory/region.hpp"
#include "runtime/heap_source.hpp"
#include "runtime/plan.hpp"
#include "send/sender.hpp"

namespace spead::app {

/// Sends heaps one by one for a benchmark, in place of the HeapGenerator of an engine. Items are a timestamp
/// of 8 bytes (0x1600), if the heaps are stamped, and zeros (0x1000) up to the plan's heap size.
///
/// Any thread may call send() and the functions after it; they wait for each other.
class BenchHeaps final : public runtime::HeapSource {
  public:
    static constexpr std::uint64_t kStampItem = 0x1600;
    static constexpr std::size_t kStampBytes = 8;

    /// Refers to both, which outlive it. A stamped heap has at least kStampBytes.
    BenchHeaps(const runtime::SendPlan& plan, send::Sender& sender, memory::RegionTable& regions,
               bool stamped);
    ~BenchHeaps() override;
    BenchHeaps(const BenchHeaps&) = delete;
    BenchHeaps& operator=(const BenchHeaps&) = delete;

    /// Sends a heap with this heap count at `rate` (bytes of UDP payload per second; 0: at once). `fill` (may
    /// be null) writes its payload. Returns false when as many as the plan allows are in flight, or the run
    /// ends.
    bool send(std::uint64_t cnt, double rate, const std::function<void(std::span<std::byte>)>& fill);

    /// Returns whether send() will not succeed any more.
    bool stopping() const noexcept { return stop_.load(std::memory_order_acquire); }

    struct Progress {
        std::uint64_t completed = 0;  ///< heaps with all packets taken by the port
        std::uint64_t aborted = 0;
        std::uint64_t last = 0;  ///< when the last one was completed, in cycles
        std::uint32_t in_flight = 0;
    };
    Progress progress();
    /// Returns the UDP payload of a heap, all its packets together.
    std::uint64_t bytes_per_heap() const noexcept { return bytes_per_heap_; }
    std::uint64_t packets_per_heap() const noexcept { return packets_per_heap_; }
    /// Returns the CPUs that lcores do not use.
    std::vector<unsigned> cpus() const;

    /// Starts; the number of heaps follows from send().
    void start(const std::vector<unsigned>& cpus, std::int64_t heaps) override;
    void request_stop() noexcept override { stop_.store(true, std::memory_order_release); }
    void abandon() noexcept override;
    void join() override {}
    bool done() const noexcept override;
    std::string failure() const override { return {}; }
    std::vector<memory::Region> regions() const override { return {{memory_.base(), memory_.length()}}; }

  private:
    struct Slot {
        std::span<std::byte> payload;
        std::unique_ptr<send::OutgoingHeap> heap;
        bool busy = false;
    };
    void collect() const;

    mutable std::mutex mutex_;
    send::Sender& sender_;
    memory::RegionTable& regions_;
    memory::Mapping memory_;
    std::vector<Slot> slots_;
    mutable Progress progress_;
    std::uint64_t bytes_per_heap_ = 0;
    std::uint64_t packets_per_heap_ = 0;
    std::vector<unsigned> cpus_;
    std::atomic<bool> stop_{false};
};

/// Returns the UDP payload of packets with `payload` SPEAD payload bytes each. Heaps of one packet also carry
/// `items` item pointers in it.
std::uint32_t bench_packet_size(std::uint32_t payload, std::uint64_t heap, std::uint32_t items);

}  // namespace spead::app
