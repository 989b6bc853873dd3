// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/selftest_steps.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "app/inspect/test_sender.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "memory/mapping.hpp"
#include "port/region_registration.hpp"
#include "wire/net.hpp"

namespace spead::app {

namespace {

constexpr std::uint16_t kManyRules = 128;
constexpr std::uint16_t kMostSegments = 12;  // beside the headers; more than a packet of the program has
constexpr auto kStepPatience = std::chrono::seconds(1);

port::Rule rule(std::uint16_t number, std::vector<std::uint16_t> queues) {
    port::Rule r;
    r.endpoint.address = {0xEFFF4D00U + number};  // 239.255.77.0 and on
    r.endpoint.port = 7148;
    r.queues = std::move(queues);
    return r;
}

port::Rule rule6(std::uint16_t number) {
    port::Rule r = rule(number, {0});
    r.endpoint.address = Ipv6{0xFF15'0000'0000'0000, 0x4D00U + number};  // ff15::4d00 and on
    return r;
}

std::string added_and_removed(port::Port& port, const port::Rule& r) {
    port.add_rule(r);
    std::string text = "taken";
    for (const port::RuleState& state : port.rules())
        if (state.rule.endpoint == r.endpoint)
            text += fmt::format("{}: {}", state.counted ? ", counted" : "", state.text);
    port.remove_rule(r.endpoint);
    return text;
}

std::uint16_t queues_of(const port::Port& port) {
    std::uint16_t n = 0;
    for (;; n++) {
        try {
            (void)port.rx_queue(n);
        } catch (const Error&) {
            return n;
        }
    }
}

}  // namespace

Findings try_rules(port::Port& port) {
    if (port.capabilities().steering == port::Steering::software)
        return {{Verdict::ok, "rules", "none: software steers, with one queue", {}}};
    // Its rules are sockets, which would join the groups.
    if (port.capabilities().steering == port::Steering::sockets)
        return {{Verdict::ok, "rules", "none: the kernel steers, by sockets", {}}};
    const std::uint16_t queues = queues_of(port);
    Findings found;
    const auto shape = [&](const std::string& name, const port::Rule& r) {
        found.push_back(finding_of("rule: " + name, [&] { return added_and_removed(port, r); }));
    };
    shape("group", rule(0, {0}));
    if (queues > 1)
        shape("group to another queue", rule(1, {static_cast<std::uint16_t>(queues - 1)}));
    port::Rule source = rule(2, {0});
    source.endpoint.source = {0xC0000207};  // 192.0.2.7
    shape("group from one source", source);
    port::Rule vlan = rule(3, {0});
    vlan.vlan = 5;
    shape("group in VLAN 5", vlan);
    port::Rule unicast = rule(4, {0});
    unicast.endpoint.address = {0xC0000205};
    shape("unicast", unicast);
    if (port.capabilities().spreads_sources && queues > 1)
        shape("group distributed by source", rule(5, {0, static_cast<std::uint16_t>(queues - 1)}));
    // A card without them serves ports of IPv4 all the same.
    const auto shape6 = [&](const std::string& name, const port::Rule& r) {
        shape(name, r);
        if (found.back().verdict == Verdict::fail)
            found.back().verdict = Verdict::warn;
    };
    shape6("group of IPv6", rule6(6));
    port::Rule source6 = rule6(7);
    source6.endpoint.source = Ipv6{0x2001'0DB8'0000'0000, 7};  // 2001:db8::7
    shape6("group of IPv6 from one source", source6);
    port::Rule unicast6 = rule6(8);
    unicast6.endpoint.address = Ipv6{0x2001'0DB8'0000'0000, 5};
    shape6("unicast of IPv6", unicast6);
    found.push_back(finding_of(fmt::format("rules: {} at once", kManyRules), [&] {
        std::uint16_t n = 0;
        try {
            for (; n < kManyRules; n++)
                port.add_rule(
                    rule(static_cast<std::uint16_t>(100 + n), {static_cast<std::uint16_t>(n % queues)}));
        } catch (const Error& error) {
            for (std::uint16_t i = 0; i < n; i++)
                port.remove_rule(rule(static_cast<std::uint16_t>(100 + i), {0}).endpoint);
            throw_error("", "after {}: {}", n, error.what());
        }
        const std::size_t listed = port.rules().size();
        for (std::uint16_t i = 0; i < n; i++)
            port.remove_rule(rule(static_cast<std::uint16_t>(100 + i), {0}).endpoint);
        const std::size_t left = port.rules().size();
        if (listed != n || left != 0)
            throw_error("", "{} added, {} listed, and {} left after the removal", counted_were(n, "rules"),
                        listed, left);
        return std::string("added, listed, removed");
    }));
    return found;
}

Findings try_memory(const port::Port& port) {
    Findings found;
    const auto attempt = [&](const std::string& name, std::size_t offset, std::size_t length) {
        found.push_back(finding_of("memory: " + name, [&] {
            const memory::Mapping mapping(std::size_t{4} << 20);
            port::RegionRegistration region(mapping.base() + offset, length);
            region.map(port);
            return fmt::format("{} bytes in pages of {}, registered, mapped and given back",
                               region.pages().length, region.pages().page_size);
        }));
    };
    attempt("whole large pages", 0, std::size_t{4} << 20);
    attempt("whole small pages", 4096, 3 * 4096);
    attempt("in the middle of pages", 100, 5000);
    return found;
}

Findings try_queues(const port::Port& port) {
    Findings found;
    for (std::uint16_t q = 0; q < queues_of(port); q++)
        found.push_back(finding_of(fmt::format("receive queue {}", q), [&] {
            std::array<rte_mbuf*, 64> mbufs;
            const port::RxQueue queue = port.rx_queue(q);
            const std::uint16_t n = queue.rx_burst(mbufs.data(), mbufs.size());
            rte_pktmbuf_free_bulk(mbufs.data(), n);
            const port::RxEvents events = port.rx_events(q);
            if (!events)
                return fmt::format("polled ({} there); no event to wait for: adaptive polling",
                                   counted_were(n, "packets"));
            events.arm();
            events.disarm();
            return fmt::format("polled ({} there); its event can be waited for", counted_were(n, "packets"));
        }));
    return found;
}

namespace {

/// Receives packets from all receive queues until none has come for a while, or until `most` have. Returns
/// their number.
std::uint64_t receive(const port::Port& port, std::uint64_t most) {
    std::uint64_t received = 0;
    const auto end = std::chrono::steady_clock::now() + kStepPatience;
    while (received < most && std::chrono::steady_clock::now() < end)
        for (std::uint16_t q = 0; q < queues_of(port); q++) {
            std::array<rte_mbuf*, 64> mbufs;
            const std::uint16_t n = port.rx_queue(q).rx_burst(mbufs.data(), mbufs.size());
            rte_pktmbuf_free_bulk(mbufs.data(), n);
            received += n;
        }
    return received;
}

}  // namespace

Findings try_sending(port::Port& port, const Endpoint& destination) {
    if (port.capabilities().receives_only) {
        port.stop();
        return {{Verdict::ok, "sending", "not tried: this port only receives", {}}};
    }
    if (!port.capabilities().tx_multi_segment || !port.capabilities().tx_external_buffer) {
        port.stop();
        return {{Verdict::ok,
                 "sending",
                 "this port takes a packet in one buffer: packets are copied into one first",
                 {}}};
    }
    if (port.capabilities().needs_peer && !port.poll_link()) {
        port.stop();
        return {{Verdict::warn, "sending", "not tried: no process is at the other end of this port", {}}};
    }
    Findings found;
    std::unique_ptr<TestSender> sender;
    found.push_back(finding_of("sending: memory", [&] {
        sender = std::make_unique<TestSender>(port, destination);
        return std::string("registered for the device");
    }));
    if (!sender) {
        port.stop();
        return found;
    }
    rte_eth_dev_info info{};
    if (rte_eth_dev_info_get(port.port_id(), &info) != 0)
        info = {};  // its limits are not known
    const std::uint16_t most =
        info.tx_desc_lim.nb_seg_max == 0
            ? kMostSegments
            : std::min<std::uint16_t>(kMostSegments,
                                      static_cast<std::uint16_t>(info.tx_desc_lim.nb_seg_max - 1));
    std::uint64_t sent = 0;
    for (std::uint16_t segments = 1; segments <= most; segments++)
        found.push_back(finding_of(
            fmt::format("sending: headers and {} piece{}", segments, segments == 1 ? "" : "s"), [&] {
                const std::uint16_t n = sender->send(segments);
                sent += n;
                if (n != TestSender::kPacketsOfEach)
                    throw_error("", "the port took {} of {} packets", n, TestSender::kPacketsOfEach);
                return fmt::format("{} packets taken", n);
            }));
    if (port.capabilities().receives_own)
        found.push_back(finding_of("loop", [&] {
            const std::uint64_t n = receive(port, sent);
            if (n != sent)
                throw_error("", "{} of {} came back", n, counted(sent, "packets"));
            return fmt::format("all {} packets came back", n);
        }));
    else
        found.push_back({Verdict::ok, "loop", "packets that this port sends do not come back to it", {}});
    const bool prompt = sender->all_back();
    port.stop();
    found.push_back(finding_of("sending: memory given back", [&] {
        if (!sender->all_back())
            throw_error("", "the driver still holds mbufs after the port was stopped");
        return std::string(prompt ? "at once" : "when the port was stopped: the driver frees late");
    }));
    sender.reset();
    return found;
}

}  // namespace spead::app
