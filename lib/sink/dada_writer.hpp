// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sink/dada_header.hpp"
#include "sink/dada_ring.hpp"

namespace spead::sink {

/// Writes records to the two rings of a PSRDADA buffer: data at the key, headers at the key behind it.
///
/// Records lie one after the other in a transfer, which the readers see as one row of bytes. Where a record
/// does not follow the one before it, a new transfer begins, and its header says where it is (OBS_OFFSET). A
/// record is written as a whole or not at all: without room for all of it, it is lost. The first of them
/// waits for a while, the next do not, until there is room again.
///
/// One thread at a time.
class DadaWriter {
  public:
    struct Options {
        std::uint32_t key = 0xdada;
        std::string stream;              ///< its name
        std::uint64_t record_bytes = 0;  ///< of each record; 0: they differ
        DadaHeader header{};             ///< the template
        std::chrono::milliseconds patience{250};
        std::chrono::milliseconds end_patience{2000};  ///< for the end of the last transfer
    };
    /// Describes a record.
    struct Place {
        std::uint64_t offset = 0;                       ///< in the row of all bytes of the stream
        std::optional<std::int64_t> chunk{};            ///< its number
        std::chrono::system_clock::time_point start{};  ///< the time of offset 0, unless the template says it
    };
    enum class Result : std::uint8_t { written, no_room, too_large, other_writer };

    /// Attaches and locks. Throws Error as DadaRing, and when the rings are too small for a record or a
    /// header.
    explicit DadaWriter(Options options);
    /// Ends the transfer.
    ~DadaWriter();
    DadaWriter(const DadaWriter&) = delete;
    DadaWriter& operator=(const DadaWriter&) = delete;

    /// Returns whether the template has the time of offset 0 (UTC_START).
    bool knows_start() const noexcept { return start_.has_value(); }
    std::uint64_t blocks() const noexcept { return data_.blocks(); }
    std::uint64_t block_bytes() const noexcept { return data_.block_bytes(); }
    std::uint64_t readers() const noexcept { return data_.readers(); }

    /// Writes a record. Throws Error when the rings cannot be written any more.
    Result write(const Place& place, std::span<const std::span<const std::byte>> parts);
    /// Ends the transfer, and gives the lock back. Returns false when the readers left no room for the end
    /// within end_patience; the next writer ends it then. Throws Error as write().
    bool finish();

    /// Names a result for messages.
    static const char* name_of(Result result) noexcept;

  private:
    std::uint64_t largest_record() const noexcept;
    bool lock();
    bool end_transfer(DadaRing::Clock::time_point limit);
    bool begin_transfer(const Place& place);
    std::string header_text(const Place& place) const;
    void copy(std::span<const std::byte> part);
    DadaRing::Clock::time_point limit() const;

    Options options_;
    DadaRing data_;
    DadaRing headers_;
    std::optional<std::string> start_;   ///< UTC_START of the template
    std::span<std::byte> block_;         ///< taken; empty: none
    std::size_t used_ = 0;               ///< bytes of block_
    std::optional<std::uint64_t> next_;  ///< offset behind the last record of the open transfer
    bool full_ = false;                  ///< the last record found no room
};

}  // namespace spead::sink
