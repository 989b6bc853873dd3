// SPDX-License-Identifier: BSD-3-Clause
#include "config/split_rules.hpp"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "base/error.hpp"
#include "config/limits.hpp"
#include "config/names.hpp"
#include "runtime/paths.hpp"
#include "wire/format_reader.hpp"
#include "wire/net.hpp"
#include "wire/packet_format.hpp"

namespace spead::config {

namespace {

using runtime::HeapEngine;
using runtime::PortPlan;
using runtime::ReceivePlan;

/// Returns the bytes before the payload of a stream's usual packet of a declared format; 0: its packets are
/// of SPEAD, and tell themselves.
std::size_t headers_of_format(const PortPlan& port, const ReceivePlan& r) {
    if (r.format.empty())
        return 0;
    const bool ipv6 = std::ranges::any_of(r.endpoints, [](const Endpoint& e) { return e.address.is_v6(); });
    try {
        const wire::PacketFormat format = wire::PacketFormat::parse(r.format, r.name);
        return (port.vlan ? wire::kVlanTag : 0) + (ipv6 ? wire::kNetHeader6 : wire::kNetHeader) +
               wire::FormatReader(format).header();
    } catch (const UsageError&) {
        return 0;  // one that is wrong is refused elsewhere
    }
}

static_assert(kSplit.min == wire::kMaxNetHeader);

std::optional<KeyFault> stream_fault(const PortPlan& port, const ReceivePlan& r, HeapEngine engine) {
    const auto fault = [](const std::string& what) { return KeyFault{"split", what}; };
    if (r.engine == HeapEngine::none || r.engine == HeapEngine::cpu)
        return fault(fmt::format(
            "port `{}` splits packets into headers and data, which lie in memory of a device, and stream "
            "`{}` "
            "has {}; give all streams of the port `gather` = \"cuda\" (--heap-memory), or leave out `split`",
            port.name, r.name,
            r.engine == HeapEngine::none ? "no `gather`" : "`gather` = \"cpu\", which copies on the CPU"));
    if (r.engine != engine)
        return fault(
            fmt::format("port `{}` splits packets into the memory of one engine, and stream `{}` has "
                        "`{}` where another has `{}`; give all streams of the port the same `gather`",
                        port.name, r.name, name_in(kHeapEngines, r.engine), name_in(kHeapEngines, engine)));
    if (r.capture)
        return fault(
            fmt::format("port `{}` splits packets, and the capture of stream `{}` would read the data, "
                        "which lie in memory of a device; leave out `capture` or `split`",
                        port.name, r.name));
    if (const std::size_t headers = headers_of_format(port, r); headers > port.split)
        return fault(
            fmt::format("port `{}` splits packets after {} bytes, and the `format` of stream `{}` needs "
                        "{} of them on the CPU; raise `split` (--split) to {}",
                        port.name, port.split, r.name, headers, headers));
    return std::nullopt;
}

}  // namespace

std::optional<KeyFault> split_fault(const runtime::Plan& plan, const PortPlan& port) {
    if (port.split == 0)
        return std::nullopt;
    if (port.udp_checksum)
        return KeyFault{
            "udp_checksum",
            fmt::format("port `{}` splits packets, and the CPU cannot sum data that lie in memory of "
                        "a device; leave out `udp_checksum` (--udp-checksum): a card checks the sums "
                        "itself",
                        port.name)};
    if (port.reassemble)
        return KeyFault{"reassemble",
                        fmt::format("port `{}` splits each fragment, headers and data, and none can be put "
                                    "together; leave out `reassemble` (--reassemble) or `split` (--split)",
                                    port.name)};
    HeapEngine engine = HeapEngine::none;
    for (const ReceivePlan& r : plan.receives) {
        if (!runtime::receives_on(r, port.name))
            continue;
        engine = engine == HeapEngine::none ? r.engine : engine;
        if (std::optional<KeyFault> fault = stream_fault(port, r, engine))
            return fault;
    }
    return std::nullopt;
}

}  // namespace spead::config
