// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/link.hpp"

/// Reads IGMP messages (versions 1 to 3) from received frames and builds frames with them.
///
/// Views refer to the frame they were made from. Nothing here allocates or throws. Sources: RFC 1112 (version
/// 1), RFC 2236 (version 2), RFC 3376 (version 3), RFC 2113 (router alert).
namespace spead::wire {

enum class IgmpType : std::uint8_t {
    query = 0x11,
    v1_report = 0x12,
    v2_report = 0x16,
    v2_leave = 0x17,
    v3_report = 0x22,
};

/// Lists the types of the group records of a version 3 report (RFC 3376 4.2.12).
enum class IgmpRecordType : std::uint8_t {
    is_include = 1,
    is_exclude = 2,
    to_include = 3,
    to_exclude = 4,
    allow = 5,
    block = 6,
};

inline constexpr Ipv4 kAllSystems{0xE0000001};      ///< 224.0.0.1: general queries go there
inline constexpr Ipv4 kAllRouters{0xE0000002};      ///< 224.0.0.2: version 2 leaves go there
inline constexpr Ipv4 kAllIgmpRouters{0xE0000016};  ///< 224.0.0.22: version 3 reports go there

inline constexpr std::size_t kIgmpMessage = 8;  ///< versions 1 and 2; also the head of a version 3 report
inline constexpr std::size_t kIgmpV3Query = 12;
inline constexpr std::size_t kIgmpRecord = 8;  ///< without its sources
/// Holds the length of our IPv4 headers, which carry the router alert option.
inline constexpr std::size_t kIgmpIpv4Header = kIpv4Header + 4;
/// Holds the room for any message of ours but a version 3 query or report with a list.
inline constexpr std::size_t kIgmpLeastRoom = kEthernetHeader + kVlanTag + kIgmpIpv4Header + 24;

/// Says why a frame is not a message to act on.
enum class IgmpRefusal : std::uint8_t {
    none,
    not_igmp,      ///< not IPv4 with protocol 2 on our VLAN
    malformed,     ///< lengths that contradict each other, a fragment, a group that cannot be
    bad_checksum,  ///< of the IPv4 header or of the message
    off_link,      ///< TTL is not 1: it may come from anywhere
    no_alert,      ///< version 3 query without the router alert option
    unknown_type,  ///< DVMRP, PIM version 1...
};

/// Reads addresses on the wire, one after the other, big-endian.
class IgmpSources {
  public:
    IgmpSources() = default;
    IgmpSources(const std::uint8_t* first, std::size_t count) noexcept : first_(first), count_(count) {}
    std::size_t size() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }
    Ipv4 operator[](std::size_t i) const noexcept { return {load_be32(first_ + 4 * i)}; }

  private:
    const std::uint8_t* first_ = nullptr;
    std::size_t count_ = 0;
};

/// Describes one group of a version 3 report.
struct IgmpRecordView {
    IgmpRecordType type{};
    Ipv4 group;
    IgmpSources sources;
};

/// Describes a well-formed message.
struct IgmpView {
    IgmpType type{};
    std::uint8_t version = 0;  ///< of a query: 1, 2 or 3 by its length and code (RFC 3376 7.1)
    Ipv4 from, to;             ///< of the IPv4 header
    Ipv4 group;                ///< 0.0.0.0: general query, or a version 3 report
    /// Holds the response time of a query; a version 1 query has none and means 10 s.
    std::chrono::milliseconds max_response{};
    IgmpSources sources;          ///< of a version 3 query
    bool suppress = false;        ///< of a version 3 query: routers keep their timers
    std::uint8_t robustness = 0;  ///< of a version 3 query; 0: not given
    std::chrono::seconds interval{};
    std::uint16_t records = 0;           ///< of a version 3 report
    std::span<const std::uint8_t> list;  ///< its records, all of them whole

    /// Takes the next record from `rest`, which starts as `list`; false when there is none.
    static bool next_record(std::span<const std::uint8_t>& rest, IgmpRecordView& record) noexcept;
};

/// Finds the IGMP message of a received frame. Fills `out` if nothing is refused; else `out` is unspecified.
/// Requires router alert of version 3 queries only. Additional data after a message is covered by its
/// checksum and otherwise ignored. But a query is of version 1 or 2 only if it has exactly 8 bytes; queries
/// of 9 to 11 bytes are malformed.
IgmpRefusal parse_igmp(std::span<const std::uint8_t> frame, const LinkAddress& own, IgmpView& out) noexcept;

/// Decodes Max Resp Code and QQIC: values up to 127 stand for themselves, larger ones are a floating-point
/// number (RFC 3376 4.1.1, 4.1.7).
constexpr std::uint32_t igmp_decode(std::uint8_t code) noexcept {
    return code < 128 ? code : ((code & 0x0FU) | 0x10U) << (((code >> 4) & 0x07U) + 3);
}
/// Returns the largest code whose value is not above `value`.
std::uint8_t igmp_encode(std::uint32_t value) noexcept;

/// Writes a version 1 or 2 report (to its group) or a version 2 leave (to all routers). Returns the frame's
/// length; 0 when `out` is shorter than kIgmpLeastRoom.
std::size_t build_igmp(std::span<std::uint8_t> out, const LinkAddress& from, IgmpType type,
                       Ipv4 group) noexcept;

struct IgmpQuery {
    std::uint8_t version = 3;
    Ipv4 group{};                     ///< 0.0.0.0: general query, to all systems; else to the group
    std::uint8_t max_response = 100;  ///< code: tenths of a second below 128
    std::span<const Ipv4> sources{};  ///< version 3
    bool suppress = false;
    std::uint8_t robustness = 2;
    std::uint8_t interval = 125;  ///< code: seconds below 128
};

/// Writes a query; 0 when `out` is too short.
std::size_t build_igmp_query(std::span<std::uint8_t> out, const LinkAddress& from,
                             const IgmpQuery& query) noexcept;

/// Builds a version 3 report record by record in memory of the caller's.
class IgmpReport {
  public:
    /// Begins a report. `out` has room for kIgmpLeastRoom bytes at least and outlives the report.
    IgmpReport(std::span<std::uint8_t> out, const LinkAddress& from) noexcept;

    /// Adds a record with as many of `sources` as there is room for, and returns how many that were; -1 when
    /// not even one fits (or, without sources, not the record itself), and then nothing was added.
    int add(IgmpRecordType type, Ipv4 group, std::span<const Ipv4> sources) noexcept;

    std::uint16_t records() const noexcept { return records_; }
    /// Completes the frame and returns its length.
    std::size_t finish() noexcept;

  private:
    std::span<std::uint8_t> out_;
    LinkAddress from_;
    std::size_t message_;  ///< where the message begins
    std::size_t end_;
    std::uint16_t records_ = 0;
};

}  // namespace spead::wire
