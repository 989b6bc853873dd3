// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "capture/pcap_format.hpp"

/// Predicts what net_pcap will deliver from a capture file.
namespace spead::drivers {

using capture::kPcapHeader;
using capture::kPcapMaxRecord;
using capture::kPcapRecordHeader;

struct PcapSummary {
    std::uint64_t packets = 0;  ///< whole records
    std::uint64_t bytes = 0;    ///< captured bytes in them, as libpcap delivers them (within the snap length)
    std::uint32_t largest_packet = 0;  ///< of those, in the largest
    std::uint64_t largest_at = 0;      ///< its number, counted from 1
    std::uint64_t cut_packets = 0;     ///< records that hold less than was on the wire (snap length)
    std::uint64_t first_cut = 0;       ///< number of the first of those, counted from 1
    bool nanoseconds = false;
    bool swapped = false;            ///< written on a machine of the other byte order
    bool truncated = false;          ///< the file ends inside record packets + 1, or that record is damaged
    bool damaged = false;            ///< its length cannot be right
    std::uint64_t truncated_at = 0;  ///< byte where that record starts
};

/// Reads the whole file once, in pieces (it may be larger than memory). Throws Error when it cannot be opened
/// or read, is not a regular file, or not a pcap file of Ethernet frames; for pcapng and compressed files the
/// error names the command that converts them. Throws Error, too, when nothing of it can be replayed.
PcapSummary read_pcap_summary(const std::string& path, const std::string& where);

}  // namespace spead::drivers
