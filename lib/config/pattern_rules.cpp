// SPDX-License-Identifier: BSD-3-Clause
#include "config/pattern_rules.hpp"

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/heap_pattern.hpp"
#include "config/names.hpp"
#include "runtime/pattern_heaps.hpp"
#include "send/heap_layout.hpp"

namespace spead::config {

namespace {

using runtime::SendPlan;

/// Returns the item pointers of the heap that has most of them.
std::uint64_t most_items(const SendPlan& s) {
    if (s.pattern != HeapPattern::none)
        return pattern_items(s.pattern, {}).count + 1;
    return runtime::describes_apart(s) ? std::uint64_t{s.items} : 2 * std::uint64_t{s.items};
}

std::optional<KeyFault> repeat_fault(const SendPlan& s) {
    const std::uint32_t room = send::max_pointers(packet_size(s) & ~7U);
    if (!s.repeat_items || most_items(s) < room)
        return std::nullopt;
    return KeyFault{"repeat_items", fmt::format("packets of {} bytes have no room to repeat {} item pointers "
                                                "and a payload; give larger packets or fewer items",
                                                packet_size(s), most_items(s))};
}

std::optional<KeyFault> endpoints_fault(const SendPlan& s, std::string_view name) {
    const std::uint64_t senders = runtime::PatternOrder::senders_of(s);
    const std::uint64_t endpoints = s.endpoints.size();
    if (s.pattern == HeapPattern::p4 && senders != 1)
        return KeyFault{"senders", fmt::format("pattern p4 has one sender for each endpoint, not {}; leave "
                                               "`senders` (--senders) out",
                                               senders)};
    if (s.pattern != HeapPattern::p1) {
        if (endpoints <= PatternHeap::kGroups)
            return std::nullopt;
        return KeyFault{"endpoints", fmt::format("pattern {} has at most {} endpoints, not {}; give fewer",
                                                 name, PatternHeap::kGroups, endpoints)};
    }
    if (endpoints % senders == 0 || senders % endpoints == 0)
        return std::nullopt;
    return KeyFault{"endpoints",
                    fmt::format("{} cannot be shared out evenly to {}; give {}, "
                                "a multiple of it, or other `senders` (--senders)",
                                counted(endpoints, "endpoints"), counted(senders, "senders"), senders)};
}

}  // namespace

std::optional<KeyFault> pattern_fault(const SendPlan& s) {
    if (!s.from.empty() && (s.pattern != HeapPattern::none || s.verify))
        return KeyFault{"from",
                        "`from` (--from) sends heaps as they were stored, and `pattern` (--pattern) and "
                        "`verify` (--verify) make others; leave one of them out"};
    if (s.pattern == HeapPattern::none) {
        if (s.senders != 0)
            return KeyFault{"senders", "`senders` belong to a pattern; give `pattern` (--pattern), too"};
        if (s.first_time != 0)
            return KeyFault{"first_time",
                            "`first_time` belongs to a pattern; give `pattern` (--pattern), too"};
        return repeat_fault(s);
    }
    const std::string_view name = name_in(kHeapPatterns, s.pattern);
    if (s.items != 1)
        return KeyFault{
            "items", fmt::format("pattern {} has one item of data, not {}; leave `items` (--items) out", name,
                                 s.items)};
    if (s.address_bits != kPatternAddressBits)
        return KeyFault{
            "addr_bits",
            fmt::format("pattern {} has {} address bits, not {}; leave `addr_bits` (--addr-bits) out", name,
                        kPatternAddressBits, s.address_bits)};
    if (auto fault = endpoints_fault(s, name))
        return fault;
    return repeat_fault(s);
}

void refuse_beam(std::string_view pattern, const std::string& where) {
    if (pattern == "p5")
        throw_usage(
            where,
            "`p5`, a beam, is not SPEAD: it has no items to send, and none for a placement; give p1, p2, "
            "p3, p3b or p4");
}

}  // namespace spead::config
