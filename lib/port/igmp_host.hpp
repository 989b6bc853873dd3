// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "port/group_host.hpp"
#include "wire/igmp.hpp"

namespace spead::port {

/// Says how a GroupHost speaks IGMP (RFC 3376; RFC 2236 and RFC 1112 to older queriers).
struct Igmp {
    using Address = Ipv4;
    using View = wire::IgmpView;
    using Report = wire::IgmpReport;
    static constexpr GroupVersion kNewest = GroupVersion::v3;
    static constexpr GroupVersion kFirstWithLeaves = GroupVersion::v2;
    static constexpr Ipv4 kEverybody = wire::kAllSystems;
    static constexpr std::size_t kLeastRoom = wire::kIgmpLeastRoom;

    /// Returns whether hosts report the group.
    static constexpr bool reports(const IpAddress& group) noexcept {
        return group.is_v4() && group.is_multicast() && group != wire::kAllSystems;
    }
    static constexpr Ipv4 address_of(const IpAddress& address) noexcept { return address.v4(); }
    static constexpr bool is_own(const wire::LinkAddress& own, Ipv4 address) noexcept {
        return address == own.ip;
    }
    static Heard parse(std::span<const std::uint8_t> frame, const wire::LinkAddress& own,
                       View& view) noexcept {
        switch (wire::parse_igmp(frame, own, view)) {
            case wire::IgmpRefusal::none:
                return Heard::message;
            case wire::IgmpRefusal::not_igmp:
            case wire::IgmpRefusal::unknown_type:
                return Heard::other;
            default:
                return Heard::refused;
        }
    }
    static bool is_query(const View& view) noexcept { return view.type == wire::IgmpType::query; }
    static bool is_old_report(const View& view) noexcept {
        return view.type == wire::IgmpType::v1_report || view.type == wire::IgmpType::v2_report;
    }
    static std::size_t build(std::span<std::uint8_t> out, const wire::LinkAddress& own, GroupVersion version,
                             bool leave, Ipv4 group) noexcept {
        const auto type = leave                         ? wire::IgmpType::v2_leave
                          : version == GroupVersion::v1 ? wire::IgmpType::v1_report
                                                        : wire::IgmpType::v2_report;
        return wire::build_igmp(out, own, type, group);
    }
};

extern template class GroupHost<Igmp>;
using IgmpHost = GroupHost<Igmp>;

}  // namespace spead::port
