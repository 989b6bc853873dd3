// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/check_ports.hpp"

#include <algorithm>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <set>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/core.h>

#include "port/pci_device.hpp"
#include "runtime/numa.hpp"

namespace spead::app {

namespace {

constexpr unsigned kGoodReadRequest = 1024;

/// Checks that the slot gives the card its full rate. Whether that suffices for the link is the card maker's
/// task.
void check_slot(const port::Machine& machine, const std::string& subject, const std::string& directory,
                Findings& findings) {
    const auto width = machine.files.number(directory + "/current_link_width");
    const auto most_width = machine.files.number(directory + "/max_link_width");
    const auto speed = machine.files.text(directory + "/current_link_speed");
    const auto most_speed = machine.files.text(directory + "/max_link_speed");
    if (!width || !most_width || *most_width <= 0 || !speed || !most_speed)
        return;
    const std::string text = fmt::format("PCI Express x{} at {}", *width, *speed);
    if (*width == *most_width && *speed == *most_speed)
        findings.push_back({Verdict::ok, subject + " slot", text, {}});
    else
        findings.push_back({Verdict::warn,
                            subject + " slot",
                            fmt::format("{}; the card can do x{} at {}: move it to a better slot", text,
                                        *most_width, *most_speed),
                            {}});
}

void check_iommu(const port::Machine& machine, const std::string& subject, const port::PciDevice& card,
                 Findings& findings) {
    if (!card.iommu) {
        if (card.driver == "vfio-pci")
            findings.push_back(
                {Verdict::warn, subject + " IOMMU",
                 "off: vfio-pci gives the card access to all memory, and EAL uses physical addresses",
                 "grubby --update-kernel=ALL --args=\"intel_iommu=on iommu=pt\" (or the same in "
                 "GRUB_CMDLINE_LINUX, then update-grub), and reboot"});
        else
            findings.push_back({Verdict::ok, subject + " IOMMU", "off", {}});
        return;
    }
    const auto type =
        machine.files.text(fmt::format("/sys/kernel/iommu_groups/{}/type", card.iommu_group)).value_or("");
    if (type.starts_with("DMA") && card.driver != "vfio-pci")
        findings.push_back(
            {Verdict::warn, subject + " IOMMU", "translates every access of the card",
             "grubby --update-kernel=ALL --args=\"iommu=pt\" (or the same in GRUB_CMDLINE_LINUX, "
             "then update-grub), and reboot"});
    else
        findings.push_back({Verdict::ok, subject + " IOMMU", type.empty() ? "on" : "on, " + type, {}});
}

void check_netdev(const std::string& subject, const port::NetdevFacts& facts, const port::MtuAdvice& mtu,
                  const AskPauseFrames& pauses, Findings& findings) {
    if (!facts.running)
        findings.push_back({Verdict::warn, subject + " link", facts.name + " has no carrier",
                            fmt::format("ethtool {}", facts.name)});
    else
        findings.push_back({Verdict::ok, subject + " link", facts.name + " is up", {}});
    if (!mtu.text.empty())
        findings.push_back(
            {mtu.enough ? Verdict::ok : Verdict::warn, subject + " MTU", mtu.text, mtu.command});
    const auto paused = pauses(facts.name);
    if (paused && *paused)
        findings.push_back({Verdict::warn, subject + " pause frames",
                            "on: one slow receiver stops the switch for all",
                            fmt::format("ethtool -A {} autoneg off rx off tx off", facts.name)});
    else if (paused)
        findings.push_back({Verdict::ok, subject + " pause frames", "off", {}});
}

}  // namespace

std::optional<bool> pause_frames(const std::string& netdev) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return std::nullopt;
    ethtool_pauseparam answer{};
    answer.cmd = ETHTOOL_GPAUSEPARAM;
    ifreq request{};
    netdev.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&answer);
    const bool answered = ::ioctl(fd, SIOCETHTOOL, &request) == 0;
    ::close(fd);
    return answered ? std::optional{answer.rx_pause != 0 || answer.tx_pause != 0} : std::nullopt;
}

std::optional<unsigned> max_read_request(const std::string& config_space) {
    // PCI 3.0, 6.7; PCI Express 4.0, 7.5.3: a list of capabilities from 0x34 on, where the status has bit 4;
    // Device Control is 8 bytes into capability 0x10, and its bits 14:12 are log2 of the size / 128.
    constexpr unsigned kStatus = 0x06, kFirst = 0x34, kExpress = 0x10;
    const auto byte = [&](unsigned at) { return static_cast<unsigned char>(config_space[at]); };
    if (config_space.size() < 64 || (byte(kStatus) & 0x10U) == 0)
        return std::nullopt;
    unsigned at = byte(kFirst) & 0xFCU;
    for (int i = 0; i < 48 && at >= 0x40 && at + 10 <= config_space.size(); i++) {
        if (byte(at) == kExpress)
            return 128U << (static_cast<unsigned>(byte(at + 9) >> 4) & 7U);
        at = byte(at + 1) & 0xFCU;
    }
    return std::nullopt;
}

Findings check_card(const port::Machine& machine, const std::string& subject, const port::PciDevice& card) {
    Findings findings;
    const std::string directory = "/sys/bus/pci/devices/" + card.address;
    check_slot(machine, subject, directory, findings);
    check_iommu(machine, subject, card, findings);
    if (const auto size = max_read_request(machine.files.bytes(directory + "/config").value_or(""))) {
        // Device Control is at 8 of the PCI Express capability; setpci knows it by name. 3: 1024 bytes.
        if (*size < kGoodReadRequest)
            findings.push_back(
                {Verdict::warn, subject + " read requests",
                 fmt::format("{} bytes at most; sending is faster with {}", *size, kGoodReadRequest),
                 fmt::format("setpci -s {} CAP_EXP+8.w=3000:7000", card.address)});
        else
            findings.push_back({Verdict::ok, subject + " read requests", fmt::format("{} bytes", *size), {}});
    }
    return findings;
}

Findings check_port(const port::Machine& machine, const runtime::Layout& layout, const runtime::Plan& plan,
                    const port::PlannedPort& port, const AskPauseFrames& pauses) {
    const std::string& subject = port.request.name;
    Findings findings{
        {Verdict::ok, subject, fmt::format("{}: {}", port.driver->name(), port.device.devargs), {}}};
    std::optional<port::PciDevice> card;
    if (port.device.pci)
        card = port::pci_device(machine.files, port.device.name);
    if (const auto facts = port.device.netdev.empty() ? std::nullopt : machine.netdev(port.device.netdev)) {
        if (!card)
            card = port::pci_device_of(machine, *facts);
        check_netdev(subject, *facts, port.device.mtu_advice, pauses, findings);
    }
    if (card)
        std::ranges::move(check_card(machine, subject, *card), std::back_inserter(findings));
    bool far = false;
    for (const runtime::FarWorker& worker : far_workers(machine, layout, plan))
        if (worker.port == subject) {
            far = true;
            findings.push_back(
                {Verdict::warn, subject + " NUMA",
                 fmt::format("on node {}, CPU {} on node {}: name CPUs of node {} (lcores)", worker.port_node,
                             worker.cpu, worker.cpu_node, worker.port_node),
                 fmt::format("cat /sys/devices/system/node/node{}/cpulist", worker.port_node)});
        }
    if (const int node = runtime::node_of_port(machine, port); !far && node >= 0)
        findings.push_back({Verdict::ok, subject + " NUMA", fmt::format("node {}, as its CPUs", node), {}});
    return findings;
}

}  // namespace spead::app
