// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "recv/packet_filter.hpp"
#include "spead/filter.hpp"

namespace spead {

/// Holds the source of a Packet's data.
struct Packet::View {
    const recv::FilterPacket& packet;
};

namespace door {

/// Adapts a user's filter to the lcore. Not installed.
class UserFilter final : public recv::PacketFilter {
  public:
    /// Takes `filter`, which is not null.
    explicit UserFilter(std::unique_ptr<spead::PacketFilter> filter) noexcept;
    ~UserFilter() override;

    recv::FilterAnswer look(const recv::FilterPacket& packet) noexcept override;

  private:
    std::unique_ptr<spead::PacketFilter> filter_;
};

}  // namespace door

}  // namespace spead
