// SPDX-License-Identifier: BSD-3-Clause
#include "recv/pcap_file_reader.hpp"

#include <span>

#include "base/log.hpp"

namespace spead::recv {

/// Reads the next record. Returns false at the end.
bool PcapFileReader::read() {
    if (ended_)
        return false;
    const capture::PcapReader::Next next = reader_.next(record_);
    has_record_ = next == capture::PcapReader::Next::record;
    ended_ = !has_record_;
    if (ended_ && next != capture::PcapReader::Next::end)
        log_warning(LogType::recv, "{}: {} {} at byte {}, after {} records; the rest is not received", where_,
                    reader_.path(),
                    next == capture::PcapReader::Next::truncated ? "ends within a record" : "is damaged",
                    reader_.position(), reader_.records());
    return has_record_;
}

PacketReader::Fed PcapFileReader::feed(DatagramLane& lane, std::uint64_t now) {
    // The reader shows one record at a time.
    for (std::size_t i = 0; i < RxAgent::kBurst; i++) {
        if (!has_record_ && !read())
            return i == 0 ? Fed::end : Fed::packets;
        const std::span<const std::uint8_t> frame(record_.data, record_.length);
        if (lane.take_frames({&frame, 1}, now) == 0)
            return i == 0 ? Fed::blocked : Fed::packets;
        has_record_ = false;
    }
    return Fed::packets;
}

}  // namespace spead::recv
