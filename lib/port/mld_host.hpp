// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "port/group_host.hpp"
#include "wire/mld.hpp"

namespace spead::port {

/// Says how a GroupHost speaks MLD (RFC 3810; RFC 2710 to older queriers). Its messages come from
/// wire::LinkAddress::link_local.
struct Mld {
    using Address = Ipv6;
    using View = wire::MldView;
    using Report = wire::MldReport;
    static constexpr GroupVersion kNewest = GroupVersion::v2;
    static constexpr GroupVersion kFirstWithLeaves = GroupVersion::v1;
    static constexpr Ipv6 kEverybody = wire::kAllNodes;
    static constexpr std::size_t kLeastRoom = wire::kMldLeastRoom;

    /// Returns whether hosts report the group: neither ff02::1 nor a group that stays on the interface (RFC
    /// 3810 6).
    static constexpr bool reports(const IpAddress& group) noexcept {
        return group.is_v6() && group.is_multicast() && group != IpAddress(wire::kAllNodes) &&
               (group.v6().high >> 48 & 0xF) > 1;
    }
    static constexpr Ipv6 address_of(const IpAddress& address) noexcept { return address.v6(); }
    static constexpr bool is_own(const wire::LinkAddress& own, const Ipv6& address) noexcept {
        return address == own.link_local || address == own.ip6;
    }
    static Heard parse(std::span<const std::uint8_t> frame, const wire::LinkAddress& own,
                       View& view) noexcept {
        const wire::MldRefusal refusal = wire::parse_mld(frame, own, view);
        return refusal == wire::MldRefusal::none      ? Heard::message
               : refusal == wire::MldRefusal::not_mld ? Heard::other
                                                      : Heard::refused;
    }
    static bool is_query(const View& view) noexcept { return view.type == wire::MldType::query; }
    static bool is_old_report(const View& view) noexcept { return view.type == wire::MldType::v1_report; }
    static std::size_t build(std::span<std::uint8_t> out, const wire::LinkAddress& own,
                             GroupVersion /*version*/, bool leave, const Ipv6& group) noexcept {
        return wire::build_mld(out, own, leave ? wire::MldType::v1_done : wire::MldType::v1_report, group);
    }
};

extern template class GroupHost<Mld>;
using MldHost = GroupHost<Mld>;

}  // namespace spead::port
