// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// Reads and writes the classic pcap file: a 24-byte header, then records of a 16-byte header and the
/// captured bytes. libpcap's documentation calls it the "savefile" format (pcap-savefile(5)); link types are
/// from tcpdump.org/linktypes.html. Any field of a file may be wrong.
namespace spead::capture {

inline constexpr std::uint64_t kPcapHeader = 24;
inline constexpr std::uint64_t kPcapRecordHeader = 16;
/// Limits a record; a larger one is damaged. libpcap has the same limit.
inline constexpr std::uint32_t kPcapMaxRecord = 262144;

/// Holds the header of every record that we write: this machine's byte order, nanoseconds.
struct PcapRecordHeader {
    std::uint32_t seconds = 0;
    std::uint32_t nanoseconds = 0;
    std::uint32_t captured = 0;  ///< bytes that follow
    std::uint32_t on_wire = 0;   ///< bytes of the frame

    std::uint64_t time_ns() const noexcept { return seconds * std::uint64_t{1'000'000'000} + nanoseconds; }
};
static_assert(sizeof(PcapRecordHeader) == kPcapRecordHeader);

/// Returns the head of a file that we write: Ethernet frames, times in nanoseconds.
std::array<std::byte, kPcapHeader> pcap_file_header(std::uint32_t snap_length) noexcept;

/// Holds the fields of a file's head.
struct PcapFileHeader {
    bool nanoseconds = false;
    bool swapped = false;           ///< written on a machine of the other byte order
    std::uint32_t snap_length = 0;  ///< of a record, at most: 1..kPcapMaxRecord
};

/// Parses the head. `bytes` is the beginning of a file of `size` bytes: all of it, or the header at least.
/// Throws Error when it is not a pcap file of Ethernet frames. For pcapng and compressed files the error
/// names the command that converts them.
PcapFileHeader parse_pcap_header(std::span<const std::uint8_t> bytes, std::uint64_t size,
                                 const std::string& path, const std::string& where);

/// Returns a record's header of such a file in this machine's byte order; `nanoseconds` is still a fraction
/// in the file's unit.
PcapRecordHeader parse_pcap_record(const std::uint8_t* bytes, const PcapFileHeader& file) noexcept;

}  // namespace spead::capture
