// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file_use.hpp"
#include "capture/options.hpp"
#include "capture/output_file.hpp"

namespace spead::capture {

/// Writes the capture file of one writer thread; with rotation, a series of them: "x.pcap" becomes
/// x-00000.pcap, x-00001.pcap, ... Every file is complete by itself, and a record is in one file.
///
/// One thread at a time. The constructor throws Error; later failures are reported by failure(), and end the
/// series: the file then ends after the last record that the disk took.
class PcapSeries {
  public:
    /// Makes the first file. `where` is for errors.
    PcapSeries(const std::string& path, const Options& options, const std::string& where);

    /// Writes whole records, as PcapRecordHeader and bytes. Returns false after a failure.
    bool write(std::span<const std::byte> records, std::uint32_t packets);
    /// Ends the last file. Returns false after a failure.
    bool finish();

    /// Returns the packets in files: given ones minus those lost to a failure.
    std::uint64_t packets() const noexcept { return closed_.packets + packets_; }
    std::uint64_t bytes() const noexcept { return closed_.bytes + (file_ ? file_->size() : 0); }
    std::uint64_t files() const noexcept { return number_; }
    const std::string& failure() const noexcept { return failure_; }
    /// Returns the path as the user named it.
    const std::string& path() const noexcept { return path_; }

    /// Returns the name of file `number` of a series.
    static std::string numbered(const std::string& path, std::uint64_t number);
    /// Returns the name of the first file that a capture into `path` makes.
    static std::string first_name(const std::string& path, const Options& options);
    /// Returns the numbered files after the first that are there already, in their order.
    static std::vector<std::string> later_files(const std::string& path);

  private:
    /// Holds the earlier files of the series.
    struct Closed {
        std::vector<FileUse> files;  ///< protected from overwriting meanwhile
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;
    };
    /// Holds the beginning of a record in the file being written.
    struct Place {
        std::uint64_t at = 0;
        std::uint64_t packets = 0;  ///< before it
    };

    bool rotates() const noexcept { return rotate_size_ != 0 || rotate_ns_ != 0; }
    void open_next();
    bool next_file();
    bool append(std::span<const std::byte> records, std::uint32_t packets);
    void give_up();

    std::string path_;
    std::string where_;
    std::uint64_t rotate_size_;
    std::uint64_t rotate_ns_;
    std::uint32_t snap_length_;
    bool direct_;
    std::unique_ptr<OutputFile> file_;
    Closed closed_;
    std::uint64_t number_ = 0;    ///< files made
    std::uint64_t packets_ = 0;   ///< of the file being written
    std::uint64_t first_ns_ = 0;  ///< time of its first packet
    Place safe_;                  ///< all before is in the file
    Place begun_;                 ///< likewise, not known to be in the file yet
    std::string failure_;
};

}  // namespace spead::capture
