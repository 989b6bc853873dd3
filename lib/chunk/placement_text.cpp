// SPDX-License-Identifier: BSD-3-Clause
#include <iterator>
#include <string>

#include <fmt/core.h>
#include <fmt/format.h>

#include "base/counted.hpp"
#include "chunk/placement.hpp"
#include "chunk/term_text.hpp"

/// Writes placements as text: the form that Placement::parse() reads, and lines for people.
namespace spead::chunk {

namespace {

std::string source_text(const Term& term) {
    switch (term.kind) {
        case Term::Kind::item:
            return fmt::format("item {:#x}", term.id);
        case Term::Kind::heap:
            return "heap";
        case Term::Kind::endpoint:
            return "endpoint";
        case Term::Kind::constant:
            break;
    }
    return fmt::format("constant {}", term.first);
}

std::string axis_text(const Axis& axis) {
    std::string text = axis.is_time ? "time" : "axis";
    if (!axis.is_time || axis.name != "time")
        text += " " + axis.name;
    fmt::format_to(std::back_inserter(text), ": {} [{}]", term_text(axis.term), axis.count);
    if (axis.stride != 0)
        fmt::format_to(std::back_inserter(text), " by {}", axis.stride);
    return text;
}

/// Describes how often the time wraps.
std::string wrap_text(const Placement& p) {
    const unsigned bits = p.time_bits();
    return bits > Placement::kMaxWrap ? "it does not wrap"
                                      : fmt::format("the item's value wraps after {} bits", bits);
}

}  // namespace

std::string term_text(const Term& term) {
    std::string text = source_text(term);
    if (term.kind == Term::Kind::constant)
        return text;
    const auto out = std::back_inserter(text);
    if (term.shift != 0)
        fmt::format_to(out, " >> {}", term.shift);
    if (~term.mask != 0)
        fmt::format_to(out, " & {:#x}", term.mask);
    if (term.first != 0)
        fmt::format_to(out, " - {}", term.first);
    if (term.step != 1 || term.truncate)
        fmt::format_to(out, " {} {}", term.truncate ? "//" : "/", term.step);
    if (!term.list.empty())
        fmt::format_to(out, " {{{}}}", fmt::join(term.list, ", "));
    return text;
}

std::string Placement::text() const {
    std::string text = fmt::format("heap {}", heap_bytes);
    for (const Axis& axis : axes)
        text += "; " + axis_text(axis);
    const auto out = std::back_inserter(text);
    for (const Extra& extra : extras)
        fmt::format_to(out, "; extra u{}: {}", extra.bytes * 8, term_text(extra.term));
    if (rows.bytes != 0)
        fmt::format_to(out, "; rows {} by {}", rows.bytes, rows.stride);
    if (packet_bytes != 0)
        fmt::format_to(out, "; presence packet {}", packet_bytes);
    if (way != Way::automatic)
        text += way == Way::direct ? "; direct" : "; tracked";
    if (wrap_bits != Placement{}.wrap_bits)
        fmt::format_to(out, "; wrap {}", wrap_bits);
    return text;
}

std::string Placement::explain() const {
    const Layout layout = check();
    const std::vector<std::uint64_t> apart = strides();
    std::string text;
    const auto out = std::back_inserter(text);
    std::string product;
    for (std::size_t i = 0; i < axes.size(); i++) {
        const Axis& axis = axes[i];
        fmt::format_to(out, "{:<9} {}: {}, {}, {} apart\n", i == 0 ? "axes" : "", axis.name,
                       term_text(axis.term), counted(axis.count, "places"), counted(apart[i], "bytes"));
        fmt::format_to(std::back_inserter(product), "{}{}", i == 0 ? "" : " x ", axis.count);
    }
    const Axis& time = axes[time_axis()];
    fmt::format_to(out, "{:<9} chunk id = {} / {}; {}\n", "time", time.name, time.count, wrap_text(*this));
    if (rows.bytes != 0)
        fmt::format_to(out, "{:<9} {} of {} in a heap, {} apart\n", "rows", heap_bytes / rows.bytes,
                       counted(rows.bytes, "bytes"), counted(rows.stride, "bytes"));
    fmt::format_to(out, "{:<9} {} = {}, of {} each\n", "heaps", product, layout.heaps,
                   counted(heap_bytes, "bytes"));
    fmt::format_to(out, "{:<9} {} of payload", "chunk", counted(layout.bytes, "bytes"));
    if (const std::uint64_t filled = layout.heaps * heap_bytes; filled != layout.bytes)
        fmt::format_to(out, ", {} of them filled by heaps", filled);
    fmt::format_to(out, "\n{:<9} {} x {} = {}\n", "presence", counted(layout.heaps, "heaps"),
                   layout.packets_per_heap, counted(layout.present_bytes(), "bytes"));
    if (!extras.empty())
        fmt::format_to(out, "{:<9} {} x {} = {}\n", "extra", counted(layout.heaps, "heaps"),
                       layout.extra_bytes, counted(layout.heaps * layout.extra_bytes, "bytes"));
    return text;
}

}  // namespace spead::chunk
