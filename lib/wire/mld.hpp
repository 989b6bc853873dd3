// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/icmp6.hpp"
#include "wire/igmp.hpp"

/// Reads MLD messages (versions 1 and 2) from received frames and builds frames with them: what IGMP is for
/// IPv4.
///
/// Views refer to the frame they were made from. Nothing here allocates or throws. Sources: RFC 2710 (version
/// 1), RFC 3810 (version 2).
namespace spead::wire {

enum class MldType : std::uint8_t {
    query = 130,
    v1_report = 131,
    v1_done = 132,
    v2_report = 143,
};

/// Names the types of group records, which are those of IGMP (RFC 3810 5.2.12).
using MldRecordType = IgmpRecordType;

inline constexpr Ipv6 kAllMldRouters{0xFF02'0000'0000'0000, 0x16};  ///< ff02::16: version 2 reports go there

inline constexpr std::size_t kMldMessage = 24;  ///< version 1
inline constexpr std::size_t kMldV2Query = 28;
inline constexpr std::size_t kMldReportHead = 8;
inline constexpr std::size_t kMldRecord = 20;  ///< without its sources
inline constexpr std::size_t kMldSource = 16;
/// Holds the room for any message of ours but a version 2 query or report with a list.
inline constexpr std::size_t kMldLeastRoom =
    kEthernetHeader + kVlanTag + kIpv6Header + kAlertOptions + kMldReportHead + kMldRecord + kMldSource;

/// Says why a frame is not a message to act on.
enum class MldRefusal : std::uint8_t {
    none,
    not_mld,       ///< not ICMPv6 on our VLAN, or of another type
    malformed,     ///< lengths that contradict each other, a group that cannot be
    bad_checksum,  ///< of the message
    off_link,  ///< the hop limit is not 1, or the source of a query or a version 1 message is not link-local
    no_alert,  ///< no router alert
};

/// Reads addresses on the wire, one after the other, big-endian.
class MldSources {
  public:
    MldSources() = default;
    MldSources(const std::uint8_t* first, std::size_t count) noexcept : first_(first), count_(count) {}
    std::size_t size() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }
    Ipv6 operator[](std::size_t i) const noexcept { return load_ipv6(first_ + kMldSource * i); }

  private:
    const std::uint8_t* first_ = nullptr;
    std::size_t count_ = 0;
};

/// Describes one group of a version 2 report.
struct MldRecordView {
    MldRecordType type{};
    Ipv6 group{};
    MldSources sources;
};

/// Describes a well-formed message.
struct MldView {
    MldType type{};
    std::uint8_t version = 0;                  ///< of a query: 1 or 2 by its length (RFC 3810 8.1)
    Ipv6 from{}, to{};                         ///< of the IPv6 header
    Ipv6 group{};                              ///< ::: general query, or a version 2 report
    std::chrono::milliseconds max_response{};  ///< of a query
    MldSources sources;                        ///< of a version 2 query
    bool suppress = false;                     ///< of a version 2 query: routers keep their timers
    std::uint8_t robustness = 0;               ///< of a version 2 query; 0: not given
    std::chrono::seconds interval{};
    std::uint16_t records = 0;           ///< of a version 2 report
    std::span<const std::uint8_t> list;  ///< its records, all of them whole

    /// Takes the next record from `rest`, which starts as `list`; false when there is none.
    static bool next_record(std::span<const std::uint8_t>& rest, MldRecordView& record) noexcept;
};

/// Finds the MLD message of a received frame. Fills `out` if nothing is refused; else `out` is unspecified.
/// Additional data after a message is covered by its checksum and otherwise ignored. But a query is of
/// version 1 only if it has exactly 24 bytes; queries of 25 to 27 bytes are malformed (RFC 3810 8.1).
MldRefusal parse_mld(std::span<const std::uint8_t> frame, const LinkAddress& own, MldView& out) noexcept;

/// Decodes the Maximum Response Code: values below 32768 are milliseconds, larger ones a floating-point
/// number of them (RFC 3810 5.1.3).
constexpr std::uint32_t mld_decode(std::uint16_t code) noexcept {
    return code < 0x8000 ? code : ((code & 0x0FFFU) | 0x1000U) << (((code >> 12) & 0x07U) + 3);
}

/// Writes a version 1 report (to its group) or done (to all routers), from `own.link_local`. Returns the
/// frame's length; 0 when `out` is shorter than kMldLeastRoom.
std::size_t build_mld(std::span<std::uint8_t> out, const LinkAddress& own, MldType type,
                      const Ipv6& group) noexcept;

struct MldQuery {
    std::uint8_t version = 2;
    Ipv6 group{};                         ///< ::: general query, to all nodes; else to the group
    std::uint16_t max_response = 10'000;  ///< code: milliseconds below 32768
    std::span<const Ipv6> sources{};      ///< version 2
    bool suppress = false;
    std::uint8_t robustness = 2;
    std::uint8_t interval = 125;  ///< code: seconds below 128
};

/// Writes a query; 0 when `out` is too short.
std::size_t build_mld_query(std::span<std::uint8_t> out, const LinkAddress& own,
                            const MldQuery& query) noexcept;

/// Builds a version 2 report record by record in memory of the caller's.
class MldReport {
  public:
    /// Begins a report. `out` has room for kMldLeastRoom bytes at least and outlives the report.
    MldReport(std::span<std::uint8_t> out, const LinkAddress& own) noexcept;

    /// Adds a record with as many of `sources` as there is room for, and returns how many that were; -1 when
    /// not even one fits (or, without sources, not the record itself), and then nothing was added.
    int add(MldRecordType type, const Ipv6& group, std::span<const Ipv6> sources) noexcept;

    std::uint16_t records() const noexcept { return records_; }
    /// Completes the frame and returns its length.
    std::size_t finish() noexcept;

  private:
    std::span<std::uint8_t> out_;
    LinkAddress own_;
    std::size_t message_;  ///< where the message begins
    std::size_t end_;
    std::uint16_t records_ = 0;
};

}  // namespace spead::wire
