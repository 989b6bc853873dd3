// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "base/units.hpp"

namespace spead::app {

const Json& member(const Json& from, std::string_view name) {
    static const Json kNothing;
    if (!from.is_object())
        return kNothing;
    const auto found = from.find(std::string(name));
    return found == from.end() ? kNothing : *found;
}

std::uint64_t count(const Json& from, std::string_view name) {
    const Json& value = member(from, name);
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

double real(const Json& from, std::string_view name) {
    const Json& value = member(from, name);
    return value.is_number() ? value.get<double>() : 0;
}

std::string text(const Json& from, std::string_view name) {
    const Json& value = member(from, name);
    return value.is_string() ? value.get<std::string>() : "";
}

std::uint64_t lost_packets(const Json& stream) {
    std::uint64_t lost = 0;
    for (const PacketOutcome o : kLosses)
        lost += count(member(stream, "packets"), name_of(o));
    return lost;
}

std::uint64_t lost_heaps(const Json& stream) {
    // Heaps of chunks count there, also those that were tracked.
    if (const Json& chunks = member(stream, "chunks"); !chunks.is_null())
        return count(chunks, "heaps_missing") + count(chunks, "heaps_device_error") +
               count(chunks, "heaps_skipped");
    const Json& heaps = member(stream, "heaps");
    std::uint64_t lost =
        count(heaps, "dropped_full") + count(heaps, "unwritten") + count(heaps, "device_error");
    for (const HeapEnd end : {HeapEnd::evicted, HeapEnd::timed_out, HeapEnd::flushed})
        lost += count(heaps, name_of(end));
    return lost;
}

std::uint64_t nic_lost(const Json& port) {
    const Json& nic = member(port, "nic");
    return count(nic, "missed") + count(nic, "no_mbuf") + count(nic, "errors");
}

std::uint64_t refused(const Json& port) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kPortOutcomes; i++)
        if (i != static_cast<std::size_t>(PortOutcome::stream) &&
            i != static_cast<std::size_t>(PortOutcome::reassembled))
            sum += count(member(port, "rx"), kPortOutcomeNames[i]);
    return sum;
}

std::optional<double> share(double part, double whole) {
    return whole > 0 ? std::optional(std::clamp(part / whole, 0.0, 1.0)) : std::nullopt;
}

std::string percent(std::optional<double> part) {
    return part ? fmt::format("{:.0f} %", *part * 100) : "-";
}

std::string bar(std::optional<double> part, std::size_t width) {
    const double share = part.value_or(0);
    // A little is not nothing.
    const auto filled = std::max<long>(std::lround(share * static_cast<double>(width)), share > 0 ? 1 : 0);
    return fmt::format("[{:<{}}]{:>6}", std::string(static_cast<std::size_t>(filled), '|'), width,
                       percent(part));
}

std::string condition(const Json& part) {
    const std::string state = text(part, "state");
    const bool usual = state.empty() || state == "received" || state == "running" || state == "sending";
    return usual ? text(member(part, "health"), "state") : state;
}

std::optional<double> load_of(const Json& then, const Json& now) {
    const double busy = real(now, "busy_s") - real(then, "busy_s");
    const double idle = real(now, "idle_s") - real(then, "idle_s");
    return then.is_null() || busy < 0 || idle < 0 ? std::nullopt : share(busy, busy + idle);
}

std::string bits(std::optional<double> rate) {
    return rate ? human_bit_rate(*rate) : "-";
}
std::string packets(std::optional<double> rate) {
    return rate ? human_packet_rate(*rate) : "-";
}
std::string events(std::optional<double> rate) {
    if (!rate)
        return "-";
    return *rate < 100 ? fmt::format("{:.1f}", *rate)
                       : human_count(static_cast<std::uint64_t>(std::llround(*rate)));
}

}  // namespace spead::app
