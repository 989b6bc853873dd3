// SPDX-License-Identifier: BSD-3-Clause
#include "recv/pcap_file_reader.hpp"

#include <span>

#include "base/counted.hpp"
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
        log_warning(LogType::recv, "{}: {} {} at byte {}, after {}; the rest is not received", where_,
                    reader_.path(),
                    next == capture::PcapReader::Next::truncated ? "ends within a record" : "is damaged",
                    reader_.position(), counted(reader_.records(), "records"));
    return has_record_;
}

bool WayMatch::matches(const wire::UdpView& udp) const noexcept {
    const auto is = [](const auto& wanted, const auto& value) {
        return wanted == std::decay_t<decltype(wanted)>{} || wanted == value;
    };
    return is(source, udp.source()) && is(destination, udp.destination()) &&
           (is(host, udp.source()) || is(host, udp.destination())) && is(source_port, udp.src_port) &&
           is(destination_port, udp.dst_port) && (is(port, udp.src_port) || is(port, udp.dst_port));
}

/// Gives the lane the record. Returns false if it has to wait.
bool PcapFileReader::take(DatagramLane& lane, std::uint64_t now) const {
    const std::span<const std::uint8_t> frame(record_.data, record_.length);
    if (!chosen_)
        return lane.take_frames({&frame, 1}, now) != 0;
    wire::UdpView udp{};
    if (wire::parse_udp(frame.data(), frame.size(), frame.size(), false, udp) != PortOutcome::stream ||
        !chosen_->match.matches(udp))
        return true;
    const Datagram datagram{{udp.source(), chosen_->to.address, udp.src_port, chosen_->to.port},
                            frame.subspan(udp.payload_offset, udp.payload_length),
                            false};
    return lane.take({&datagram, 1}, now) != 0;
}

PacketReader::Fed PcapFileReader::feed(DatagramLane& lane, std::uint64_t now) {
    // The reader shows one record at a time.
    for (std::size_t i = 0; i < RxAgent::kBurst; i++) {
        if (!has_record_ && !read())
            return i == 0 ? Fed::end : Fed::packets;
        if (!take(lane, now))
            return i == 0 ? Fed::blocked : Fed::packets;
        has_record_ = false;
    }
    return Fed::packets;
}

}  // namespace spead::recv
