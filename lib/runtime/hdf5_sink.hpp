// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.hpp"
#include "chunk/placement.hpp"
#include "runtime/chunk_sink.hpp"
#include "runtime/output_directory.hpp"
#include "runtime/wall_clock.hpp"
#include "sink/array_layout.hpp"
#include "sink/hdf5_description.hpp"
#include "sink/missing_heaps.hpp"
#include "sink/raw_writer.hpp"

namespace spead::runtime {

/// Says what the files of an HDF5 sink hold.
struct Hdf5Content {
    chunk::Placement placement;
    sink::ElementType type{};
    std::uint64_t rotate_size = 0;  ///< bytes of payload at which the next file begins; 0: never
};

/// Writes the payload of chunks to DIRECTORY/STREAM.raw as a raw sink does, and describes it by a small HDF5
/// file, DIRECTORY/STREAM.h5. What belongs to the chunks lies beside it in files of its own. The HDF5 file is
/// replaced as a whole, so that it can be opened at any moment, also after the process was killed.
///
/// A chunk is given back once it is copied, and settled when all files have it but the HDF5 file, which
/// follows about a second later at most.
class Hdf5Sink : public ChunkSink {
  public:
    /// Throws Error as OutputDirectory, and if this program was built without HDF5.
    Hdf5Sink(const std::string& directory, std::string stream, const Hdf5Content& content);

    void hand_chunk(const chunk::Chunk& chunk, const Settled& settled) noexcept override;
    void settle() noexcept override { writer_.settle(); }
    /// Writes the chunk at once, and waits for that.
    void consume_chunk(const chunk::Chunk& chunk) override;
    void finish() override;

  private:
    /// Holds a file beside the payload, with a piece for each chunk.
    struct Side {
        FileDescriptor file;
        sink::Hdf5DataSet set;
        std::uint64_t piece = 0;  ///< bytes of a chunk
    };
    using Clock = std::chrono::steady_clock;

    sink::RawWriter::Options options() const;
    sink::RawWriter::Hooks hooks();
    std::shared_ptr<sink::RawFile> open();
    bool is_beside(const std::string& stem) const noexcept;
    void add(const chunk::Chunk& chunk, const Settled& settled);
    int append(std::span<const sink::RawWriter::Note> notes, std::uint64_t& written);
    int begin(const sink::RawFile& file);
    int append_one(const std::string& note);
    int describe_later();
    int describe();
    std::vector<sink::Hdf5DataSet> sets() const;

    std::string stream_;
    Hdf5Content content_;
    sink::ArrayLayout layout_;
    std::vector<std::byte> missing_;  ///< an element that is not there
    sink::MissingHeaps heaps_;
    WallClock clock_;
    OutputDirectory directory_;
    unsigned next_suffix_ = 1;  ///< of the next file; those before it exist

    // Of the writer's thread.
    std::string stem_;             ///< of the present files; empty: there are none
    std::vector<Side> sides_;      ///< files beside the payload
    std::uint64_t chunks_ = 0;     ///< that all files have
    std::uint64_t described_ = 0;  ///< of them, those that the HDF5 file has
    Clock::time_point last_;       ///< when it was written

    sink::RawWriter writer_;
};

/// Returns what the plan's sink writes. Throws UsageError when the placement does not fit, or this program
/// was built without HDF5.
Hdf5Content hdf5_content(const ReceivePlan& plan, const std::string& where);

}  // namespace spead::runtime
