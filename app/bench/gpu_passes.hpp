// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "gpu/gatherer.hpp"
#include "gpu/objects.hpp"
#include "gpu/registered.hpp"
#include "memory/mapping.hpp"

namespace spead::app {

/// Holds what `bench gpu` measures.
struct GpuBenchOptions {
    std::vector<std::uint32_t> payload_sizes;  ///< bytes of a packet's payload
    std::vector<std::uint32_t> batches;        ///< packets of a launch
    std::vector<std::uint64_t> chunk_sizes;    ///< bytes
    std::uint32_t in_flight = 3;               ///< chunks
    std::uint64_t set = 0;                     ///< bytes of packets in rotation, and of chunks
    double time = 0.5;                         ///< seconds of each measurement
    std::uint32_t streams = 8;                 ///< that batches take in turn
    std::uint32_t rounds = 3;                  ///< of which the median counts
    std::uint32_t gpu = 0;                     ///< as the driver numbers them
    bool copy_engine = false;                  ///< gathers by the copy engine, too
};

/// Has the GPU move bytes in each of the ways that `bench gpu` compares, from a set of packets in registered
/// host memory or in its own. One thread.
class GpuPasses {
  public:
    enum class Source : std::uint8_t { host, device };

    /// Describes packets as they lie in the buffers of a receive queue, to be gathered out of order.
    struct Packets {
        std::uint32_t payload = 0;
        std::uint32_t batch = 0;
        Source source = Source::host;
        gpu::Gatherer::Way way = gpu::Gatherer::Way::automatic;
    };
    struct Times {
        double median = 0;  ///< seconds
        double p99 = 0;
    };

    /// Takes the memory for a set. Batches take `streams` in turn.
    GpuPasses(const gpu::ContextPointer& context, std::uint64_t set, std::uint32_t streams);

    /// Returns whether this build has the kernels.
    bool has_kernel() const noexcept { return kernel_.way() == gpu::Gatherer::Way::kernel; }

    /// Measures limits for `seconds`. Returns bytes per second, read and written together for copy_limit().
    double upload_limit(double seconds);
    double read_limit(double seconds);  ///< only with has_kernel()
    double copy_limit(double seconds);

    /// Measures uploads of whole chunks, `in_flight` at a time. Returns bytes per second.
    double chunks(std::uint64_t size, unsigned in_flight, double seconds);
    /// Returns how many bytes of the set are wrong on the GPU after they were uploaded as chunks.
    std::uint64_t wrong_in_chunks(std::uint64_t size, unsigned in_flight);

    /// Measures gathers. Returns bytes of payload per second.
    double gather(const Packets& packets, double seconds);
    /// Returns how many bytes are wrong on the GPU after every packet was gathered.
    std::uint64_t wrong_in_gather(const Packets& packets);
    /// Returns the times of single batches, from their launch to the word that tells their end: of `samples`
    /// of them, or as many as `seconds` allow.
    Times batch_times(const Packets& packets, unsigned samples, double seconds);

  private:
    static constexpr unsigned kInFlight = 16;  ///< batches of a stream

    /// Holds host memory that the GPU reaches.
    struct Pinned {
        Pinned(const gpu::ContextPointer& context, std::size_t length)
            : mapping(length), registered(context, mapping.base(), mapping.length()) {}
        gpu::cuda::DevicePointer address() const noexcept { return registered.address_of(mapping.base()); }
        memory::Mapping mapping;
        gpu::Registered registered;
    };
    /// Holds a stream with the word in which it tells the last batch that is done.
    struct Lane {
        explicit Lane(const gpu::ContextPointer& context) : stream(context) {}
        gpu::Stream stream;
        std::atomic<std::uint32_t>* done = nullptr;
        gpu::cuda::DevicePointer word = 0;
        std::uint32_t begun = 0;
    };

    /// Repeats `pass`, which begins to move `bytes`, for `seconds`.
    double rate_of(double seconds, std::uint64_t bytes, const std::function<void()>& pass);
    void finish();
    void upload_packets();
    /// Makes the list of pieces, unless it is the present one. Returns their number.
    std::size_t list(const Packets& packets);
    void gather_once(const Packets& packets, std::size_t count);
    void launch(Lane& lane, const gpu::Gatherer& gatherer, std::size_t first, std::size_t count);
    const gpu::Gatherer& gatherer(gpu::Gatherer::Way way) const;
    void upload_chunks(std::uint64_t size, unsigned in_flight, const std::function<bool()>& more);
    /// Fills what is to be written with bytes that are none of the packets'.
    void spoil();

    gpu::ContextPointer context_;
    std::uint64_t set_;
    Pinned packets_;
    Pinned fetched_;
    Pinned pieces_;
    Pinned words_;
    gpu::DeviceMemory heaps_;
    gpu::DeviceMemory device_packets_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    gpu::Gatherer kernel_;
    gpu::Gatherer copy_engine_;
    Packets listed_{};
    std::size_t listed_count_ = 0;
    bool packets_on_device_ = false;
};

}  // namespace spead::app
