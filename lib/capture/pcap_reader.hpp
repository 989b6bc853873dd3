// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "capture/pcap_format.hpp"

namespace spead::capture {

/// Reads the records of one classic pcap file in order, through a window: the file may be larger than memory,
/// and all of its fields are checked. Control code; throws Error with the file, the byte and the reason when
/// it cannot be opened or read.
class PcapReader {
  public:
    /// Opens it and reads its head; see parse_pcap_header for the refused ones. It must be a regular file.
    PcapReader(const std::string& path, const std::string& where);
    ~PcapReader();
    PcapReader(PcapReader&& other) noexcept;
    PcapReader& operator=(PcapReader&&) = delete;
    PcapReader(const PcapReader&) = delete;

    struct Record {
        std::uint64_t at = 0;                ///< byte of the file where it starts
        std::uint64_t time_ns = 0;           ///< since 1970
        const std::uint8_t* data = nullptr;  ///< valid until the next call
        std::uint32_t length = 0;            ///< bytes of data: captured, and within the file's snap length
        std::uint32_t on_wire = 0;           ///< bytes of the frame, as the file has it
        bool cut() const noexcept { return length < on_wire; }
    };
    enum class Next : std::uint8_t {
        record,
        end,        ///< the file ended after a whole record
        truncated,  ///< ... inside the record that starts at position()
        damaged     ///< its length cannot be right
    };

    /// Reads the next record. After a result other than `record` it always returns the same.
    Next next(Record& out);

    /// Returns the start of the next record, or of the incomplete one.
    std::uint64_t position() const noexcept { return position_; }
    /// Returns the number of whole records read so far.
    std::uint64_t records() const noexcept { return records_; }
    const PcapFileHeader& header() const noexcept { return header_; }
    const std::string& path() const noexcept { return path_; }
    std::uint64_t size() const noexcept { return size_; }
    /// Starts again from the first record.
    void rewind() noexcept;

  private:
    const std::uint8_t* at(std::uint64_t offset, std::size_t count);
    void fill(std::uint64_t offset, std::size_t least);

    std::string path_;
    std::string where_;
    int fd_ = -1;
    std::uint64_t size_ = 0;
    std::uint64_t position_ = kPcapHeader;
    std::uint64_t records_ = 0;
    PcapFileHeader header_;
    std::uint64_t start_ = 0;  ///< of the window in the file
    std::size_t filled_ = 0;
    std::vector<std::uint8_t> window_;
};

}  // namespace spead::capture
