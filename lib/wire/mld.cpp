// SPDX-License-Identifier: BSD-3-Clause
#include "wire/mld.hpp"

#include <algorithm>
#include <cstring>

namespace spead::wire {
namespace {

using std::chrono::milliseconds;

MldRefusal parse_query(std::span<const std::uint8_t> message, MldView& out) noexcept {
    const bool v2 = message.size() >= kMldV2Query;
    if (!v2 && message.size() != kMldMessage)
        return MldRefusal::malformed;
    out.group = load_ipv6(&message[8]);
    if (!is_unspecified(out.group) && !out.group.is_multicast())
        return MldRefusal::malformed;
    const std::uint16_t code = load_be16(&message[4]);
    if (!v2) {
        out.version = 1;
        out.max_response = milliseconds(code);
        return MldRefusal::none;
    }
    const std::size_t sources = load_be16(&message[26]);
    if (sources * kMldSource > message.size() - kMldV2Query || (is_unspecified(out.group) && sources != 0))
        return MldRefusal::malformed;
    out.version = 2;
    out.max_response = milliseconds(mld_decode(code));
    out.suppress = (message[24] & 0x08) != 0;
    out.robustness = message[24] & 0x07;
    out.interval = std::chrono::seconds(igmp_decode(message[25]));
    out.sources = MldSources(message.data() + kMldV2Query, sources);
    return MldRefusal::none;
}

/// Returns the length of the record at the begin of `bytes`; 0 when it is not whole.
std::size_t record_length(std::span<const std::uint8_t> bytes) noexcept {
    if (bytes.size() < kMldRecord)
        return 0;
    const std::size_t length = kMldRecord + kMldSource * load_be16(&bytes[2]) + std::size_t{4} * bytes[1];
    return length > bytes.size() ? 0 : length;
}

MldRefusal parse_v2_report(std::span<const std::uint8_t> message, MldView& out) noexcept {
    if (message.size() < kMldReportHead)
        return MldRefusal::malformed;
    out.version = 2;
    out.records = load_be16(&message[6]);
    const std::span<const std::uint8_t> all = message.subspan(kMldReportHead);
    std::size_t end = 0;
    for (std::uint16_t i = 0; i < out.records; i++) {
        const std::size_t length = record_length(all.subspan(end));
        if (length == 0)
            return MldRefusal::malformed;
        end += length;
    }
    out.list = all.first(end);
    return MldRefusal::none;
}

MldRefusal parse_v1(std::span<const std::uint8_t> message, MldView& out) noexcept {
    if (message.size() < kMldMessage)
        return MldRefusal::malformed;
    out.version = 1;
    out.group = load_ipv6(&message[8]);
    return out.group.is_multicast() ? MldRefusal::none : MldRefusal::malformed;
}

std::size_t complete(std::uint8_t* out, const LinkAddress& own, const Ipv6& to, std::size_t length) noexcept {
    return complete_icmp6(out, own, {multicast_mac6(to), own.link_local, to, 1, true}, length);
}

}  // namespace

MldRefusal parse_mld(std::span<const std::uint8_t> frame, const LinkAddress& own, MldView& out) noexcept {
    Icmp6View view;
    switch (parse_icmp6(frame, own, view)) {
        case Icmp6Refusal::none:
            break;
        case Icmp6Refusal::malformed:
            return MldRefusal::malformed;
        case Icmp6Refusal::bad_checksum:
            return MldRefusal::bad_checksum;
        case Icmp6Refusal::not_icmp6:
            return MldRefusal::not_mld;
    }
    out = {};
    out.type = static_cast<MldType>(view.message[0]);
    if (out.type != MldType::query && out.type != MldType::v1_report && out.type != MldType::v1_done &&
        out.type != MldType::v2_report)
        return MldRefusal::not_mld;
    // A host without an address yet reports from :: (RFC 3810 5.2.13).
    const bool from_nobody = out.type == MldType::v2_report && is_unspecified(view.from);
    if (view.hop_limit != 1 || (!is_link_local_unicast(view.from) && !from_nobody))
        return MldRefusal::off_link;
    if (!view.alert)
        return MldRefusal::no_alert;
    out.from = view.from;
    out.to = view.to;
    switch (out.type) {
        case MldType::query:
            return parse_query(view.message, out);
        case MldType::v2_report:
            return parse_v2_report(view.message, out);
        default:
            return parse_v1(view.message, out);
    }
}

bool MldView::next_record(std::span<const std::uint8_t>& rest, MldRecordView& record) noexcept {
    const std::size_t length = record_length(rest);
    if (length == 0)
        return false;
    record.type = static_cast<MldRecordType>(rest[0]);
    record.group = load_ipv6(&rest[4]);
    record.sources = MldSources(rest.data() + kMldRecord, load_be16(&rest[2]));
    rest = rest.subspan(length);
    return true;
}

std::size_t build_mld(std::span<std::uint8_t> out, const LinkAddress& own, MldType type,
                      const Ipv6& group) noexcept {
    if (out.size() < kMldLeastRoom)
        return 0;
    std::uint8_t* const message = out.data() + icmp6_message_at(own, true);
    std::memset(message, 0, kMldMessage);
    message[0] = static_cast<std::uint8_t>(type);
    store_ipv6(message + 8, group);
    return complete(out.data(), own, type == MldType::v1_done ? kAllRouters6 : group, kMldMessage);
}

std::size_t build_mld_query(std::span<std::uint8_t> out, const LinkAddress& own,
                            const MldQuery& query) noexcept {
    const std::size_t at = icmp6_message_at(own, true);
    const std::size_t length =
        query.version == 1 ? kMldMessage : kMldV2Query + kMldSource * query.sources.size();
    if (out.size() < std::max(kMldLeastRoom, at + length))
        return 0;
    std::uint8_t* const message = out.data() + at;
    std::memset(message, 0, length);
    message[0] = static_cast<std::uint8_t>(MldType::query);
    store_be16(message + 4, query.max_response);
    store_ipv6(message + 8, query.group);
    if (query.version != 1) {
        message[24] = static_cast<std::uint8_t>((query.suppress ? 0x08 : 0) | (query.robustness & 0x07));
        message[25] = query.interval;
        store_be16(message + 26, static_cast<std::uint16_t>(query.sources.size()));
        for (std::size_t i = 0; i < query.sources.size(); i++)
            store_ipv6(message + kMldV2Query + kMldSource * i, query.sources[i]);
    }
    return complete(out.data(), own, is_unspecified(query.group) ? kAllNodes : query.group, length);
}

MldReport::MldReport(std::span<std::uint8_t> out, const LinkAddress& own) noexcept
    : out_(out), own_(own), message_(icmp6_message_at(own, true)), end_(message_ + kMldReportHead) {
    std::memset(out.data() + message_, 0, kMldReportHead);
    out[message_] = static_cast<std::uint8_t>(MldType::v2_report);
}

int MldReport::add(MldRecordType type, const Ipv6& group, std::span<const Ipv6> sources) noexcept {
    const std::size_t room = out_.size() - end_;
    if (room < kMldRecord + (sources.empty() ? 0 : kMldSource) || records_ == UINT16_MAX)
        return -1;
    const std::size_t n = std::min(sources.size(), (room - kMldRecord) / kMldSource);
    std::uint8_t* const record = out_.data() + end_;
    record[0] = static_cast<std::uint8_t>(type);
    record[1] = 0;
    store_be16(record + 2, static_cast<std::uint16_t>(n));
    store_ipv6(record + 4, group);
    for (std::size_t i = 0; i < n; i++)
        store_ipv6(record + kMldRecord + kMldSource * i, sources[i]);
    end_ += kMldRecord + kMldSource * n;
    records_++;
    return static_cast<int>(n);
}

std::size_t MldReport::finish() noexcept {
    store_be16(out_.data() + message_ + 6, records_);
    return complete(out_.data(), own_, kAllMldRouters, end_ - message_);
}

}  // namespace spead::wire
