// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// The classic pcap file: a 24-byte header, then records of a 16-byte header and the captured bytes. What
/// libpcap's documentation calls the "savefile" format (pcap-savefile(5)); link types are from
/// tcpdump.org/linktypes.html. Everything in a file that is read may be a lie.
namespace spead::capture {

inline constexpr std::uint64_t kPcapHeader = 24;
inline constexpr std::uint64_t kPcapRecordHeader = 16;
/// A record that claims more is damaged; libpcap gives up at the same size.
inline constexpr std::uint32_t kPcapMaxRecord = 262144;

/// In front of every record that we write: this machine's byte order, nanoseconds.
struct PcapRecordHeader {
    std::uint32_t seconds = 0;
    std::uint32_t nanoseconds = 0;
    std::uint32_t captured = 0;  ///< bytes that follow
    std::uint32_t on_wire = 0;   ///< bytes of the frame

    std::uint64_t time_ns() const noexcept { return seconds * std::uint64_t{1'000'000'000} + nanoseconds; }
};
static_assert(sizeof(PcapRecordHeader) == kPcapRecordHeader);

/// The head of a file that we write: Ethernet frames, times in nanoseconds.
std::array<std::byte, kPcapHeader> pcap_file_header(std::uint32_t snap_length) noexcept;

/// What a file's head says.
struct PcapFileHeader {
    bool nanoseconds = false;
    bool swapped = false;           ///< written on a machine of the other byte order
    std::uint32_t snap_length = 0;  ///< of a record, at most: 1..kPcapMaxRecord
};

/// `bytes` is the beginning of a file of `size` bytes: all of it, or the header at least. Throws Error when
/// it is not a pcap file of Ethernet frames; pcapng and compressed files are recognised, with the command
/// that converts them.
PcapFileHeader parse_pcap_header(std::span<const std::uint8_t> bytes, std::uint64_t size,
                                 const std::string& path, const std::string& where);

/// A record's header as it stands in such a file, in this machine's byte order; `nanoseconds` is still a
/// fraction in the file's unit.
PcapRecordHeader parse_pcap_record(const std::uint8_t* bytes, const PcapFileHeader& file) noexcept;

}  // namespace spead::capture
