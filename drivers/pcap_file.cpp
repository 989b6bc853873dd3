// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/pcap_file.hpp"

#include "capture/pcap_reader.hpp"

namespace spead::drivers {

PcapSummary read_pcap_summary(const std::string& path, const std::string& where) {
    capture::PcapReader file(path, where);
    PcapSummary summary;
    summary.nanoseconds = file.header().nanoseconds;
    summary.swapped = file.header().swapped;
    capture::PcapReader::Record record;
    capture::PcapReader::Next next{};
    while ((next = file.next(record)) == capture::PcapReader::Next::record) {
        ++summary.packets;
        summary.bytes += record.length;
        if (record.length > summary.largest_packet) {
            summary.largest_packet = record.length;
            summary.largest_at = summary.packets;
        }
        if (record.cut()) {
            summary.first_cut = summary.cut_packets == 0 ? summary.packets : summary.first_cut;
            ++summary.cut_packets;
        }
    }
    summary.damaged = next == capture::PcapReader::Next::damaged;
    summary.truncated = next != capture::PcapReader::Next::end;
    summary.truncated_at = summary.truncated ? file.position() : 0;
    return summary;
}

}  // namespace spead::drivers
