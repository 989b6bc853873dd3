// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "recv/held_packets.hpp"
#include "recv/packet_filter.hpp"
#include "spead/filter.hpp"

/// Runs filters of the user's own. Not installed.
namespace spead::door {

/// Gives access to the inside of packets.
struct FilterAccess {
    static Packet packet(const recv::FilterPacket& packet) noexcept { return Packet(packet); }
    static recv::HeldPacket& held(HeldPacket& packet) noexcept {
        return *std::launder(reinterpret_cast<recv::HeldPacket*>(packet.held_));
    }
    static const recv::HeldPacket& held(const HeldPacket& packet) noexcept {
        return *std::launder(reinterpret_cast<const recv::HeldPacket*>(packet.held_));
    }
    static HeldPacket make(recv::HeldPacket held) noexcept {
        HeldPacket packet;
        FilterAccess::held(packet) = std::move(held);
        return packet;
    }
};

/// Adapts a user's filter to the lcore.
class UserFilter final : public recv::PacketFilter {
  public:
    /// Takes `filter`, which is not null.
    explicit UserFilter(std::unique_ptr<spead::PacketFilter> filter) noexcept;
    ~UserFilter() override;

    recv::FilterAnswer look(const recv::FilterPacket& packet) noexcept override;
    void lent(recv::HeldPacket packet) noexcept override;
    void ending() noexcept override;

  private:
    std::unique_ptr<spead::PacketFilter> filter_;
};

}  // namespace spead::door
