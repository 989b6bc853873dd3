// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/netdev_mtu.hpp"

#include <algorithm>
#include <exception>
#include <linux/capability.h>
#include <mutex>
#include <string>
#include <vector>

#include "drivers/common.hpp"
#include "drivers/outliving.hpp"
#include "port/netdev.hpp"

namespace spead::drivers {

namespace {

struct Raised {
    std::string netdev;
    std::uint32_t mtu;
    std::uint32_t before;  ///< 0: unknown
};

/// Holds the MTUs raised by open ports.
struct AllRaised {
    std::mutex mutex;
    std::vector<Raised> plans;
};

AllRaised& raised() {
    static AllRaised& all = *new AllRaised;  // never destroyed: ports may be closed while the process ends
    return all;
}

/// Restores the MTU unless another program has changed it since.
void put_back(const Raised& one) noexcept {
    try {
        const auto facts = port::netdev_facts(one.netdev);
        if (one.before != 0 && facts && facts->mtu == one.mtu) {
            port::set_netdev_mtu(one.netdev, one.before);
        }
    } catch (const std::exception&) {
        // The interface has gone, and its MTU with it.
    }
}

/// Advises from the packets to receive, the driver's limits, and the MTU while the port is open.
port::MtuAdvice advise(const port::PortRequest& request, const std::string& interface, std::uint32_t mtu,
                       std::uint32_t most, const std::string& device) {
    port::MtuAdvice advice;
    advice.text = fmt::format("the MTU of {} is {}", interface, mtu);
    const std::uint32_t wanted = request.rx_queues > 0 ? port::mtu_of(request.max_rx_packet) : 0;
    if (wanted <= mtu || request.reassembled_datagrams != 0) {
        return advice;
    }
    advice.enough = false;
    const auto payload = [&request](std::uint32_t of_mtu) {
        return request.named(port::payload_of_mtu(of_mtu));
    };
    advice.text += fmt::format(": packets above {} bytes of UDP payload{} will not arrive", payload(mtu),
                               request.ipv6 ? " over IPv6" : "");
    const std::uint32_t useful = std::min(wanted, most);
    if (useful > mtu) {
        advice.command = fmt::format("ip link set {} mtu {}", interface, useful);
        advice.text += fmt::format(" (to receive up to {}, run `{}` first)", payload(useful), advice.command);
    }
    if (useful < wanted) {
        advice.text += fmt::format(
            "; {} holds {} at most: for up to {} use net_af_packet0,iface={} and an MTU "
            "of {}",
            device, payload(most), request.named(request.max_rx_packet), interface, wanted);
    }
    return advice;
}

}  // namespace

std::uint32_t plan_netdev_mtu(const port::PortRequest& request, const port::NetdevFacts& facts,
                              port::PreparedDevice& plan, const port::Machine& machine, std::uint32_t most) {
    const auto where = port::where(request);
    check_mtu(request);
    const std::uint32_t needed = std::max(request.mtu, request.tx_queues > 0 && request.max_tx_packet > 0
                                                           ? port::mtu_of(request.max_tx_packet)
                                                           : 0);
    if (needed > facts.mtu) {
        if (!machine.capable(CAP_NET_ADMIN)) {
            throw_error(where,
                        "the MTU of {} is {}, and {} is needed; raising it needs CAP_NET_ADMIN: run `ip link "
                        "set {} mtu {}` first",
                        facts.name, facts.mtu, needed, facts.name, needed);
        }
        plan.netdev_mtu = needed;
        plan.remarks.push_back(fmt::format("{}: the MTU of {} is raised from {} to {} while the port is open",
                                           where, facts.name, facts.mtu, needed));
    }
    const std::uint32_t mtu = std::max(needed, facts.mtu);
    plan.mtu_advice = advise(request, facts.name, mtu, most == 0 ? UINT32_MAX : most, plan.name);
    if (!plan.mtu_advice.enough) {
        plan.remarks.push_back(fmt::format("{}: {}", where, plan.mtu_advice.text));
    }
    return mtu;
}

void apply_netdev_mtu(port::PreparedDevice& plan) {
    if (plan.netdev_mtu == 0) {
        return;
    }
    const std::lock_guard lock(raised().mutex);
    const auto facts = port::netdev_facts(plan.netdev);
    port::set_netdev_mtu(plan.netdev, plan.netdev_mtu);
    plan.netdev_mtu_before = facts ? facts->mtu : 0;
    raised().plans.push_back({plan.netdev, plan.netdev_mtu, plan.netdev_mtu_before});
}

void restore_netdev_mtu(const port::PreparedDevice& plan) noexcept {
    const std::lock_guard lock(raised().mutex);
    const auto found = std::ranges::find(raised().plans, plan.netdev, &Raised::netdev);
    if (found != raised().plans.end()) {
        put_back(*found);
        raised().plans.erase(found);
    }
}

void put_back_netdev_mtus() noexcept {
    const std::lock_guard lock(raised().mutex);
    for (const Raised& one : raised().plans) {
        put_back(one);
    }
    raised().plans.clear();
}

}  // namespace spead::drivers
