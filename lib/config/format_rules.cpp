// SPDX-License-Identifier: BSD-3-Clause
#include "config/format_rules.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "chunk/placement.hpp"
#include "recv/filter_expression.hpp"
#include "wire/packet_format.hpp"

namespace spead::config {

namespace {

using wire::PacketFormat;

/// Returns the fault of a text that reads an item which the packets do not have.
std::optional<KeyFault> absent_item(const PacketFormat& format, std::uint64_t id, std::string_view key,
                                    std::string_view text) {
    if (std::any_of(format.items.begin(), format.items.end(),
                    [id](const PacketFormat::Item& item) { return item.id == id; }))
        return std::nullopt;
    std::vector<std::string> ids;
    for (const PacketFormat::Item& item : format.items)
        ids.push_back(fmt::format("{:#x}", item.id));
    return KeyFault{
        key, fmt::format("the {} reads item {:#x}, and the packets of `format` have {}; declare it, as "
                         "in `item {:#x}: NAME`, or read another",
                         text, id, ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", ")), id)};
}

std::optional<KeyFault> absent_item(const PacketFormat& format, const chunk::Term& term) {
    if (term.kind != chunk::Term::Kind::item)
        return std::nullopt;
    return absent_item(format, term.id, "chunk.placement", "placement");
}

}  // namespace

std::optional<KeyFault> format_fault(const runtime::ReceivePlan& r) {
    if (r.format.empty())
        return std::nullopt;
    const PacketFormat format = PacketFormat::parse(r.format);
    if (r.sink.kind == runtime::SinkKind::verify)
        return KeyFault{"sink.kind",
                        fmt::format("the sink `verify` knows what SPEAD senders of this program send, and "
                                    "stream `{}` has another `format`; give another sink",
                                    r.name)};
    if (!r.filter.empty())
        for (const std::uint64_t id : recv::FilterExpression::parse(r.filter).items())
            if (auto fault = absent_item(format, id, "filter", "filter"))
                return fault;
    if (!r.chunk || r.chunk->by_callback || r.chunk->placement.empty())
        return std::nullopt;
    const chunk::Placement placement = r.chunk->parsed();
    for (const chunk::Axis& axis : placement.axes)
        if (auto fault = absent_item(format, axis.term))
            return fault;
    for (const chunk::Extra& extra : placement.extras)
        if (auto fault = absent_item(format, extra.term))
            return fault;
    return std::nullopt;
}

}  // namespace spead::config
