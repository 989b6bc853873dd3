// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capture/pcap_reader.hpp"
#include "recv/packet_reader.hpp"
#include "wire/net.hpp"

namespace spead::recv {

/// Chooses datagrams by addresses and ports; 0.0.0.0 and 0: any.
struct WayMatch {
    IpAddress host{};  ///< of the sender or the destination
    IpAddress source{};
    IpAddress destination{};
    std::uint16_t port = 0;  ///< of one of them
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;

    bool matches(const wire::UdpView& udp) const noexcept;
};

/// Feeds the frames of a pcap file, as fast as the lane takes them. Headers are checked as on a port.
class PcapFileReader final : public PacketReader {
  public:
    /// Opens the file. Throws Error; `where` is its where().
    PcapFileReader(const std::string& path, const std::string& where) : reader_(path, where), where_(where) {}

    /// Feeds the UDP datagrams that match, as if they had been sent to `to`. Other frames are nobody's.
    PcapFileReader(const std::string& path, const std::string& where, const Endpoint& to,
                   const WayMatch& match)
        : reader_(path, where), where_(where), chosen_(Chosen{to, match}) {}

    /// Gives frames of the file. A file that ends within a record, or is damaged, ends there, and the log
    /// says so.
    Fed feed(DatagramLane& lane, std::uint64_t now) override;
    void wait(std::chrono::milliseconds /*patience*/) override {}
    void wake() noexcept override {}
    bool lossless() const noexcept override { return true; }

  private:
    struct Chosen {
        Endpoint to;
        WayMatch match;
    };

    bool read();
    bool take(DatagramLane& lane, std::uint64_t now) const;

    capture::PcapReader reader_;
    std::string where_;
    std::optional<Chosen> chosen_{};  ///< empty: the lane chooses
    capture::PcapReader::Record record_;
    bool has_record_ = false;  ///< that the lane has not taken
    bool ended_ = false;
};

}  // namespace spead::recv
