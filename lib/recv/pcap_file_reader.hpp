// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "capture/pcap_reader.hpp"
#include "recv/packet_reader.hpp"

namespace spead::recv {

/// Feeds the frames of a pcap file, as fast as the lane takes them. Headers are checked as on a port.
class PcapFileReader final : public PacketReader {
  public:
    /// Opens the file. Throws Error; `where` is its where().
    PcapFileReader(const std::string& path, const std::string& where) : reader_(path, where), where_(where) {}

    /// Gives frames of the file. A file that ends within a record, or is damaged, ends there, and the log
    /// says so.
    Fed feed(DatagramLane& lane, std::uint64_t now) override;
    void wait(std::chrono::milliseconds /*patience*/) override {}
    void wake() noexcept override {}
    bool lossless() const noexcept override { return true; }

  private:
    bool read();

    capture::PcapReader reader_;
    std::string where_;
    capture::PcapReader::Record record_;
    bool has_record_ = false;  ///< that the lane has not taken
    bool ended_ = false;
};

}  // namespace spead::recv
