// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/check_machine.hpp"

#include <algorithm>
#include <array>
#include <linux/capability.h>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/endpoint.hpp"
#include "base/units.hpp"
#include "runtime/copy_limits.hpp"
#include "runtime/paths.hpp"

namespace spead::app {

Finding check_huge_pages(const port::Machine& machine, const runtime::EalMemory& need, bool must) {
    const runtime::HugeMemory have = runtime::huge_memory(machine);
    const auto shortage = runtime::huge_shortage(have, need);
    if (!shortage)
        return {Verdict::ok,
                "huge pages",
                fmt::format("{}; {} needed", runtime::describe(have), human_size(runtime::sum_of(need))),
                {}};
    return {must ? Verdict::fail : Verdict::warn, "huge pages",
            fmt::format("{}; {}", shortage->reason,
                        must ? "a card needs them" : "ordinary pages are used instead"),
            shortage->command};
}

Finding check_memlock(const port::Machine& machine, std::size_t bytes) {
    const std::uint64_t lockable = machine.lockable();
    if (lockable == UINT64_MAX)
        return {Verdict::ok, "locked memory", "no limit", {}};
    const std::string text =
        fmt::format("limit {}, {} reached by cards", human_size(lockable), human_size(bytes));
    if (lockable >= bytes)
        return {Verdict::ok, "locked memory", text, {}};
    return {Verdict::fail, "locked memory", text, "ulimit -l unlimited"};
}

Findings check_chunks(const port::Machine& machine, const runtime::Layout& layout,
                      const runtime::Plan& plan) {
    std::size_t huge = 0;
    std::size_t pinned = 0;
    for (const runtime::ReceivePlan& r : plan.receives) {
        if (!r.enabled || !r.chunk || r.chunk->memory == runtime::ChunkMemory::host)
            continue;
        const std::size_t bytes = runtime::chunk_bytes(r).payload;
        (r.chunk->memory == runtime::ChunkMemory::huge ? huge : pinned) += bytes;
    }
    const runtime::HugeMemory have = runtime::huge_memory(machine);
    // EAL takes its own first, or none if they do not suffice.
    const bool eal_has_some = !runtime::huge_shortage(have, layout.eal_memory);
    const auto shortage_for = [&](std::size_t bytes) {
        runtime::EalMemory need = eal_has_some ? layout.eal_memory : runtime::EalMemory{};
        need[-1] += bytes;
        auto shortage = runtime::huge_shortage(have, need);
        if (shortage && !eal_has_some) {
            // Pages that are reserved for the chunks may suffice for EAL, which then takes them.
            need = layout.eal_memory;
            need[-1] += bytes;
            shortage->command = runtime::huge_shortage(have, need)->command;
        }
        return shortage;
    };
    Findings findings;
    if (huge != 0)
        if (const auto shortage = shortage_for(huge))
            findings.push_back({Verdict::fail, "chunks",
                                fmt::format("{}, with {} for chunks of `memory = \"huge\"`", shortage->reason,
                                            human_size(huge)),
                                shortage->command});
    // Huge pages need no limit.
    if (const std::uint64_t lockable = machine.lockable(); pinned > lockable && shortage_for(huge + pinned))
        findings.push_back({Verdict::fail, "chunks",
                            fmt::format("{} of pinned chunks, and RLIMIT_MEMLOCK is {}", human_size(pinned),
                                        human_size(lockable)),
                            "ulimit -l unlimited"});
    return findings;
}

Finding check_capabilities(const port::Machine& machine) {
    static constexpr std::array<std::pair<int, std::string_view>, 5> kUsed{{{CAP_NET_RAW, "CAP_NET_RAW"},
                                                                            {CAP_NET_ADMIN, "CAP_NET_ADMIN"},
                                                                            {CAP_IPC_LOCK, "CAP_IPC_LOCK"},
                                                                            {CAP_BPF, "CAP_BPF"},
                                                                            {CAP_PERFMON, "CAP_PERFMON"}}};
    std::vector<std::string_view> missing;
    for (const auto& [capability, name] : kUsed)
        if (!machine.capable(capability))
            missing.push_back(name);
    if (missing.empty())
        return {Verdict::ok,
                "capabilities",
                "CAP_NET_RAW, CAP_NET_ADMIN, CAP_IPC_LOCK, CAP_BPF, CAP_PERFMON",
                {}};
    return {Verdict::warn, "capabilities",
            fmt::format("without {} (the last two are net_af_xdp's); ring, pcap, null, kernel, memif and "
                        "vhost-user need none",
                        fmt::join(missing, ", ")),
            "setcap cap_net_raw,cap_net_admin,cap_ipc_lock,cap_bpf,cap_perfmon+ep $(command -v dpdk-spead)"};
}

Finding check_governor(const port::Machine& machine, const std::set<unsigned>& cpus) {
    std::vector<std::string> slow;
    bool scales = false;
    for (const unsigned cpu : cpus) {
        const auto governor =
            machine.files.text(fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu));
        scales |= governor.has_value();
        if (governor && *governor != "performance")
            slow.push_back(fmt::format("CPU {}: {}", cpu, *governor));
    }
    if (slow.empty())
        return {Verdict::ok,
                "CPU frequency",
                scales ? "governor performance" : "not scaled by this kernel (a virtual machine?)",
                {}};
    return {Verdict::warn, "CPU frequency", fmt::format("{}", fmt::join(slow, ", ")),
            "cpupower frequency-set -g performance"};
}

Finding check_isolation(const port::Machine& machine, const std::set<unsigned>& cpus) {
    const auto isolated = machine.files.cpus("/sys/devices/system/cpu/isolated");
    std::vector<unsigned> shared;
    std::ranges::copy_if(cpus, std::back_inserter(shared),
                         [&](unsigned cpu) { return !isolated.contains(cpu); });
    if (shared.empty())
        return {Verdict::ok, "isolated CPUs", fmt::format("{}", fmt::join(cpus, ",")), {}};
    const std::string list = fmt::format("{}", fmt::join(shared, ","));
    return {Verdict::warn, "isolated CPUs", fmt::format("the kernel runs other work on CPU {} too", list),
            fmt::format(
                "grubby --update-kernel=ALL --args=\"isolcpus={0} nohz_full={0} rcu_nocbs={0}\" (or the same "
                "in GRUB_CMDLINE_LINUX, then update-grub), and reboot",
                list)};
}

Finding check_copies(const port::Machine& machine, const std::set<unsigned>& cpus) {
    return {Verdict::ok,
            "copies",
            runtime::describe_copies(machine.files, *cpus.begin(), {cpus.begin(), cpus.end()}),
            {}};
}

Findings check_membership(const port::Machine& machine, const runtime::Layout& layout,
                          const runtime::Plan& plan) {
    Findings findings;
    std::map<IpAddress, std::set<IpAddress>> sources;
    std::set<std::string> netdevs;
    for (const runtime::ReceivePlan& r : plan.receives)
        runtime::for_each_path(
            r, [&](std::size_t, const std::string& name, const std::vector<Endpoint>& endpoints) {
                const port::PlannedPort& port = layout.port(name);
                if (port.device.capabilities.membership != port::Membership::kernel_socket)
                    return;
                netdevs.insert(port.device.netdev);
                for (const Endpoint& e : endpoints)
                    if (e.address.is_multicast())
                        sources[e.address].insert(e.source);
            });
    if (netdevs.empty())
        return findings;
    // When a socket is full another one is opened, so only 0 is a limit.
    std::size_t most = 0;
    for (const auto& [group, of_group] : sources)
        most = std::max(most, of_group.contains(IpAddress{}) ? 0 : of_group.size());
    for (const auto& [name, usual, wanted] :
         {std::tuple{"igmp_max_memberships", 20, sources.size()}, std::tuple{"igmp_max_msf", 10, most}}) {
        const std::int64_t limit =
            machine.files.number(fmt::format("/proc/sys/net/ipv4/{}", name)).value_or(usual);
        if (wanted > 0 && limit <= 0)
            findings.push_back({Verdict::fail, "groups",
                                fmt::format("net.ipv4.{} is {}: no group can be joined{}", name, limit,
                                            most == 0 ? "" : " from named sources"),
                                fmt::format("sysctl -w net.ipv4.{}={}", name, usual)});
    }
    if (findings.empty())
        findings.push_back(
            {Verdict::ok,
             "groups",
             fmt::format(
                 "{} to join{}", sources.size(),
                 most == 0 ? "" : fmt::format(", from up to {} each", counted(most, "named sources"))),
             {}});
    for (const std::string& netdev : netdevs) {
        const auto filter = [&](const std::string& name) {
            return machine.files.number(fmt::format("/proc/sys/net/ipv4/conf/{}/rp_filter", name))
                .value_or(0);
        };
        // The kernel takes the larger of the two.
        if (const std::int64_t mode = std::max(filter("all"), filter(netdev)); mode == 1)
            findings.push_back(
                {Verdict::warn, "IGMP queries",
                 fmt::format("rp_filter of {} is strict: queries of a router without a route back are "
                             "dropped, and memberships then end",
                             netdev),
                 fmt::format("sysctl -w net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.{}.rp_filter=2",
                             netdev)});
    }
    return findings;
}

}  // namespace spead::app
