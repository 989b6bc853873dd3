// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/bench/assemble_point.hpp"
#include "app/bench/lcore_crew.hpp"
#include "app/bench/prebuilt_queue.hpp"
#include "memory/arena.hpp"
#include "memory/copy.hpp"
#include "memory/mapping.hpp"
#include "process/stop_signals.hpp"
#include "recv/rx_agent.hpp"

namespace spead::app {

/// Holds a row of the table of `bench assemble`. Times are medians, per packet.
struct AssembleResult {
    std::uint64_t packets = 0;       ///< per pass
    std::uint64_t frame_memory = 0;  ///< bytes of mbufs used in turn
    std::uint64_t heap_memory = 0;   ///< bytes of heap blocks used in turn
    double ns = 0;                   ///< of the lcore, without its reading
    double copy_ns = 0;              ///< of the better of both bare copies
    double ratio = 0;                ///< copy limit's time / ours, median of pairs
    double added_ns = 0;
    double reader_ns = 0;  ///< of the reader; 0: there is none
    double cached_ns = 0;  ///< of the bare copy into the cache
    double streaming_ns = 0;
    bool streams = false;  ///< the lcore copied past the cache in the end
    std::string packet_pages;
    memory::Mapping::Backing heap_pages{};
    bool exact = true;  ///< all packets placed and all heaps complete
};

/// Measures a combination of `bench assemble`: one lcore, prebuilt packets to heaps. On an initialised EAL.
class AssemblePasses {
  public:
    /// Refers to the crew, which has a second lcore for a reader there. Throws Error.
    AssemblePasses(const AssemblePoint& point, LcoreCrew& crew);
    ~AssemblePasses();
    AssemblePasses(const AssemblePasses&) = delete;
    AssemblePasses& operator=(const AssemblePasses&) = delete;

    /// Measures for so many seconds, `rounds` times at least.
    AssembleResult run(double seconds, std::uint32_t rounds, const process::StopSignals& signals);

  private:
    class Consumer;
    struct CopyJob {
        std::byte* to;
        const std::byte* from;
        std::uint32_t length;
    };

    double assemble_pass();
    std::uint64_t receive_pass() noexcept;
    void read_pass() noexcept;
    double copy_pass(memory::Stores stores);
    void take_all() noexcept;
    void take_some() noexcept;
    std::uint64_t read_ticks() const;
    double to_ns(std::uint64_t ticks) const;
    void record_addresses();
    std::byte* next_instead() noexcept;
    bool exact() const;

    AssemblePoint point_;
    LcoreCrew& crew_;
    std::uint64_t packets_;
    PrebuiltQueue queue_;
    std::optional<PrebuiltQueue> copies_;  ///< of the second path
    std::uint64_t heap_memory_ = 0;
    memory::Arena arena_;
    std::vector<std::unique_ptr<recv::SpeadLane>> lanes_;
    std::vector<std::unique_ptr<Consumer>> consumers_;
    recv::Source source_;
    recv::Source copies_source_;
    recv::RxAgent agent_;
    std::vector<std::vector<CopyJob>> jobs_;  ///< by recorded pass
    /// Stands for the memory of heaps that were lent in one piece and have none: the limit copies there.
    memory::Mapping instead_;
    std::uint64_t instead_at_ = 0;
    std::uint64_t copy_passes_ = 0;
    std::uint64_t now_offset_ = 0;  ///< ticks that housekeeping was told of, and that did not pass
    std::uint64_t passes_ = 0;
    std::size_t next_look_ = 0;      ///< stream whose queue the consumers look at next
    std::uint64_t received_at_ = 0;  ///< ticks that the last pass took the lcore
    std::atomic<bool> all_received_{false};
};

}  // namespace spead::app
