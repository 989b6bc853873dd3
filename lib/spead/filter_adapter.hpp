// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "recv/packet_filter.hpp"
#include "spead/filter.hpp"

namespace spead {

/// Where a Packet gets what it shows from.
struct Packet::View {
    const recv::FilterPacket& packet;
};

namespace door {

/// A filter of the user's as the lcore has it. Not installed.
class UserFilter final : public recv::PacketFilter {
  public:
    /// `filter` is not null.
    explicit UserFilter(std::unique_ptr<spead::PacketFilter> filter) noexcept;
    ~UserFilter() override;

    recv::FilterAnswer look(const recv::FilterPacket& packet) noexcept override;

  private:
    std::unique_ptr<spead::PacketFilter> filter_;
};

}  // namespace door

}  // namespace spead
