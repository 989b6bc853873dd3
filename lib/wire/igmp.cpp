// SPDX-License-Identifier: BSD-3-Clause
#include "wire/igmp.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace spead::wire {
namespace {

constexpr std::uint8_t kInternetworkControl = 0xC0;  // RFC 3376 4
constexpr std::uint8_t kRouterAlert = 148;           // option type, with length 4 and value 0
constexpr std::uint8_t kEndOfOptions = 0;
constexpr std::uint8_t kNoOperation = 1;
constexpr std::chrono::milliseconds kV1Response{10'000};  // RFC 2236 4
constexpr std::chrono::milliseconds kTenth{100};

/// Returns the same sum as IPv4's, over the whole message.
std::uint16_t checksum(const std::uint8_t* message, std::size_t length) noexcept {
    return ipv4_checksum(message, length);
}

bool has_router_alert(std::span<const std::uint8_t> options) noexcept {
    while (!options.empty() && options[0] != kEndOfOptions) {
        if (options[0] == kNoOperation) {
            options = options.subspan(1);
            continue;
        }
        if (options.size() < 2 || options[1] < 2 || options[1] > options.size())
            return false;
        if (options[0] == kRouterAlert && options[1] == 4)
            return true;
        options = options.subspan(options[1]);
    }
    return false;
}

IgmpRefusal parse_query(std::span<const std::uint8_t> message, bool alert, IgmpView& out) noexcept {
    const std::uint8_t code = message[1];
    const bool v3 = message.size() >= kIgmpV3Query;
    if (!v3 && message.size() != kIgmpMessage)
        return IgmpRefusal::malformed;
    if (out.group.value != 0 && !out.group.is_multicast())
        return IgmpRefusal::malformed;
    if (!v3) {
        out.version = code == 0 ? 1 : 2;
        out.max_response = code == 0 ? kV1Response : code * kTenth;
        // Version 1 asks for all groups; the group field has no meaning.
        if (out.version == 1)
            out.group = {};
        return IgmpRefusal::none;
    }
    const std::size_t sources = load_be16(&message[10]);
    if (sources * 4 > message.size() - kIgmpV3Query || (out.group.value == 0 && sources != 0))
        return IgmpRefusal::malformed;
    if (!alert)
        return IgmpRefusal::no_alert;
    out.version = 3;
    out.max_response = igmp_decode(code) * kTenth;
    out.suppress = (message[8] & 0x08) != 0;
    out.robustness = message[8] & 0x07;
    out.interval = std::chrono::seconds(igmp_decode(message[9]));
    out.sources = IgmpSources(message.data() + kIgmpV3Query, sources);
    return IgmpRefusal::none;
}

IgmpRefusal parse_v3_report(std::span<const std::uint8_t> message, IgmpView& out) noexcept {
    out.version = 3;
    out.group = {};
    out.records = load_be16(&message[6]);
    const std::span<const std::uint8_t> all = message.subspan(kIgmpMessage);
    std::size_t end = 0;
    for (std::uint16_t i = 0; i < out.records; i++) {
        if (all.size() - end < kIgmpRecord)
            return IgmpRefusal::malformed;
        const std::size_t length =
            kIgmpRecord + std::size_t{4} * load_be16(&all[end + 2]) + std::size_t{4} * all[end + 1];
        if (length > all.size() - end)
            return IgmpRefusal::malformed;
        end += length;
    }
    out.list = all.first(end);
    return IgmpRefusal::none;
}

/// Writes the Ethernet and IPv4 headers of a message of `length` bytes to `to`, the message's checksum, and
/// padding; `at` is where the message begins. Returns the frame's length.
std::size_t complete(std::uint8_t* out, std::size_t at, const LinkAddress& from, Ipv4 to,
                     std::size_t length) noexcept {
    std::uint8_t* const message = out + at;
    store_be16(message + 2, 0);
    store_be16(message + 2, checksum(message, length));
    (void)write_link(out, multicast_mac(to), from, kEtherTypeIpv4);
    std::uint8_t* const ip = message - kIgmpIpv4Header;
    std::memset(ip, 0, kIgmpIpv4Header);
    ip[0] = 0x40 | kIgmpIpv4Header / 4;
    ip[1] = kInternetworkControl;
    store_be16(ip + 2, static_cast<std::uint16_t>(kIgmpIpv4Header + length));
    store_be16(ip + 6, kIpv4DontFragment);
    ip[8] = 1;
    ip[9] = kProtocolIgmp;
    store_be32(ip + 12, from.ip.value);
    store_be32(ip + 16, to.value);
    ip[20] = kRouterAlert;
    ip[21] = 4;
    store_be16(ip + 10, ipv4_checksum(ip, kIgmpIpv4Header));
    return pad_frame(out, at + length);
}

std::size_t message_at(const LinkAddress& from) noexcept {
    return kEthernetHeader + (from.vlan ? kVlanTag : 0) + kIgmpIpv4Header;
}

}  // namespace

IgmpRefusal parse_igmp(std::span<const std::uint8_t> frame, const LinkAddress& own, IgmpView& out) noexcept {
    const auto ip = payload_of(frame, kEtherTypeIpv4, own);
    if (ip.size() < kIpv4Header)
        return IgmpRefusal::not_igmp;
    const std::size_t header = static_cast<std::size_t>(ip[0] & 0x0F) * 4;
    const std::size_t length = load_be16(&ip[2]);
    if (ip[9] != kProtocolIgmp)
        return IgmpRefusal::not_igmp;
    if (ip[0] >> 4 != 4 || header < kIpv4Header || length < header || length > ip.size() ||
        (load_be16(&ip[6]) & kIpv4FragmentMask) != 0)
        return IgmpRefusal::malformed;
    if (ipv4_checksum(ip.data(), header) != 0)
        return IgmpRefusal::bad_checksum;
    const auto message = ip.subspan(header, length - header);
    if (message.size() < kIgmpMessage)
        return IgmpRefusal::malformed;
    if (checksum(message.data(), message.size()) != 0)
        return IgmpRefusal::bad_checksum;
    if (ip[8] != 1)
        return IgmpRefusal::off_link;

    out = {};
    out.type = static_cast<IgmpType>(message[0]);
    out.from.value = load_be32(&ip[12]);
    out.to.value = load_be32(&ip[16]);
    out.group.value = load_be32(&message[4]);
    switch (out.type) {
        case IgmpType::query:
            return parse_query(message, has_router_alert(ip.subspan(kIpv4Header, header - kIpv4Header)), out);
        case IgmpType::v1_report:
        case IgmpType::v2_report:
        case IgmpType::v2_leave:
            out.version = out.type == IgmpType::v1_report ? 1 : 2;
            return out.group.is_multicast() ? IgmpRefusal::none : IgmpRefusal::malformed;
        case IgmpType::v3_report:
            return parse_v3_report(message, out);
    }
    return IgmpRefusal::unknown_type;
}

bool IgmpView::next_record(std::span<const std::uint8_t>& rest, IgmpRecordView& record) noexcept {
    if (rest.size() < kIgmpRecord)
        return false;
    const std::size_t sources = load_be16(&rest[2]);
    const std::size_t length = kIgmpRecord + 4 * sources + std::size_t{4} * rest[1];
    if (length > rest.size())
        return false;
    record.type = static_cast<IgmpRecordType>(rest[0]);
    record.group.value = load_be32(&rest[4]);
    record.sources = IgmpSources(rest.data() + kIgmpRecord, sources);
    rest = rest.subspan(length);
    return true;
}

std::uint8_t igmp_encode(std::uint32_t value) noexcept {
    if (value < 128)
        return static_cast<std::uint8_t>(value);
    if (value >= igmp_decode(0xFF))
        return 0xFF;
    const auto exponent = static_cast<std::uint32_t>(std::bit_width(value)) - 8;
    return static_cast<std::uint8_t>(0x80U | exponent << 4 | ((value >> (exponent + 3)) & 0x0FU));
}

std::size_t build_igmp(std::span<std::uint8_t> out, const LinkAddress& from, IgmpType type,
                       Ipv4 group) noexcept {
    if (out.size() < kIgmpLeastRoom)
        return 0;
    const std::size_t at = message_at(from);
    std::uint8_t* const message = out.data() + at;
    std::memset(message, 0, kIgmpMessage);
    message[0] = static_cast<std::uint8_t>(type);
    store_be32(message + 4, group.value);
    return complete(out.data(), at, from, type == IgmpType::v2_leave ? kAllRouters : group, kIgmpMessage);
}

std::size_t build_igmp_query(std::span<std::uint8_t> out, const LinkAddress& from,
                             const IgmpQuery& query) noexcept {
    const std::size_t at = message_at(from);
    const std::size_t length = query.version == 3 ? kIgmpV3Query + 4 * query.sources.size() : kIgmpMessage;
    if (out.size() < std::max(kIgmpLeastRoom, at + length))
        return 0;
    std::uint8_t* const message = out.data() + at;
    std::memset(message, 0, length);
    message[0] = static_cast<std::uint8_t>(IgmpType::query);
    message[1] = query.version == 1 ? std::uint8_t{0} : query.max_response;
    store_be32(message + 4, query.group.value);
    if (query.version == 3) {
        message[8] = static_cast<std::uint8_t>((query.suppress ? 0x08 : 0) | (query.robustness & 0x07));
        message[9] = query.interval;
        store_be16(message + 10, static_cast<std::uint16_t>(query.sources.size()));
        for (std::size_t i = 0; i < query.sources.size(); i++)
            store_be32(message + kIgmpV3Query + 4 * i, query.sources[i].value);
    }
    return complete(out.data(), at, from, query.group.value == 0 ? kAllSystems : query.group, length);
}

IgmpReport::IgmpReport(std::span<std::uint8_t> out, const LinkAddress& from) noexcept
    : out_(out), from_(from), message_(message_at(from)), end_(message_ + kIgmpMessage) {
    std::memset(out.data() + message_, 0, kIgmpMessage);
    out[message_] = static_cast<std::uint8_t>(IgmpType::v3_report);
}

int IgmpReport::add(IgmpRecordType type, Ipv4 group, std::span<const Ipv4> sources) noexcept {
    const std::size_t room = out_.size() - end_;
    if (room < kIgmpRecord + (sources.empty() ? 0 : 4) || records_ == UINT16_MAX)
        return -1;
    const std::size_t n = std::min(sources.size(), (room - kIgmpRecord) / 4);
    std::uint8_t* const record = out_.data() + end_;
    record[0] = static_cast<std::uint8_t>(type);
    record[1] = 0;
    store_be16(record + 2, static_cast<std::uint16_t>(n));
    store_be32(record + 4, group.value);
    for (std::size_t i = 0; i < n; i++)
        store_be32(record + kIgmpRecord + 4 * i, sources[i].value);
    end_ += kIgmpRecord + 4 * n;
    records_++;
    return static_cast<int>(n);
}

std::size_t IgmpReport::finish() noexcept {
    store_be16(out_.data() + message_ + 6, records_);
    return complete(out_.data(), message_, from_, kAllIgmpRouters, end_ - message_);
}

}  // namespace spead::wire
