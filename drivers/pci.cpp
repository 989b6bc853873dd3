// SPDX-License-Identifier: BSD-3-Clause
/// Drives any card that was taken from the kernel: bound to vfio-pci, uio_pci_generic or igb_uio. EAL finds
/// the PMD.
///
/// Facts (EAL and the PMDs of DPDK 22.11; not seen on hardware): a card's capabilities are known when it is
/// open, so only those of all cards are declared. Sent packets stay inside until the ring needs room, at most
/// all its descriptors, so no user memory is lent to it. Without isolation the card's filter lets multicast
/// in (rte_eth_allmulticast_enable). vfio-pci with an IOMMU takes virtual addresses. Without one, and under
/// the uio drivers, addresses are physical, and only root can read these. The uio drivers have one interrupt,
/// for the link. The kernel does not see the card: our own host reports group membership.
#include <linux/capability.h>
#include <memory>

#include <rte_ethdev.h>

#include "drivers/card.hpp"
#include "drivers/common.hpp"
#include "drivers/table.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint32_t kStandardMtu = 1500;
constexpr std::uint32_t kMostMtu = 9702;          // of i40e; ixgbe and ice allow more
constexpr std::uint32_t kMostDescriptors = 4096;  // the limit of i40e, ixgbe and ice

class Pci final : public port::Driver {
  public:
    explicit Pci(const port::Machine& machine) : machine_(machine) {}

    std::string_view name() const override { return "net_pci"; }
    bool pci() const override { return true; }
    bool drives(const port::PciDevice& card) const override {
        return card.network && card.vendor != port::kMellanox && port::takes_from_kernel(card.driver);
    }

    port::Capabilities declared() const override {
        port::Capabilities c;
        c.membership = port::Membership::own_host;
        c.rx_interrupt = true;
        c.late_free_segments = kCardTxDescriptors - 1;
        c.max_rx_frame = c.max_tx_frame = kMostMtu + port::kEthernetHeader + port::kVlanTags;
        c.rx_offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
        return c;
    }

    port::PreparedDevice plan(const port::PortRequest& request) const override;

  private:
    void check_access(const port::PciDevice& card, const std::string& where,
                      port::PreparedDevice& plan) const;
    static void plan_sizes(const port::PortRequest& request, port::PreparedDevice& plan);

    const port::Machine& machine_;
};

void Pci::check_access(const port::PciDevice& card, const std::string& where,
                       port::PreparedDevice& plan) const {
    plan.physical_addresses = card.driver != "vfio-pci" || !card.iommu;
    plan.kept = {CAP_IPC_LOCK};
    if (plan.physical_addresses) {
        plan.kept |= {CAP_SYS_ADMIN, CAP_SYS_RAWIO};
    }
    if (plan.physical_addresses && !machine_.capable(CAP_SYS_ADMIN)) {
        throw_error(
            where,
            "{} is bound to {} without an IOMMU, so EAL needs physical addresses and with them "
            "CAP_SYS_ADMIN: run as root, or switch the IOMMU on (intel_iommu=on iommu=pt on the kernel's "
            "command line) and bind the card to vfio-pci",
            card.address, card.driver);
    }
    if (card.driver != "vfio-pci") {
        plan.capabilities.rx_interrupt = false;
        return;
    }
    const std::string group = fmt::format("/dev/vfio/{}{}", card.iommu ? "" : "noiommu-", card.iommu_group);
    for (const std::string& file : {std::string{"/dev/vfio/vfio"}, group}) {
        if (!machine_.files.exists(file)) {
            throw_error(where,
                        "{} is not there: run `modprobe vfio-pci`, or give it to the container (docker: "
                        "`--device {}`)",
                        file, file);
        }
        if (!machine_.files.writable(file)) {
            throw_error(where,
                        "{} cannot be opened for reading and writing: run as root, or `chown $USER {}`", file,
                        file);
        }
    }
}

void Pci::plan_sizes(const port::PortRequest& request, port::PreparedDevice& plan) {
    const auto where = port::where(request);
    check_mtu(request);
    const std::uint32_t received = request.rx_queues == 0 ? 0 : port::mtu_of(request.max_rx_packet);
    const std::uint32_t sent = request.max_tx_packet == 0 ? 0 : port::mtu_of(request.max_tx_packet);
    const std::uint32_t mtu = request.mtu != 0 ? request.mtu : std::max({received, sent, kStandardMtu});
    if (mtu > kMostMtu) {
        throw_usage(where,
                    "an MTU of {} is needed (packets of {} bytes received, {} sent), and cards have at most "
                    "{}; lower the packet size",
                    mtu, received, sent, kMostMtu);
    }
    plan_card_queues(request, mtu, kMostDescriptors, plan);
}

port::PreparedDevice Pci::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    const auto device = port::DeviceString::parse(request.device, where);
    const auto card = port::pci_device(machine_.files, device.name());
    if (!card) {
        throw_error(where, "{} is not a PCI device of this machine; name the card's address", device.name());
    }
    auto plan = start_plan(*this, request, device);
    check_access(*card, where, plan);
    plan_sizes(request, plan);
    plan.devargs = device.text();
    check_lockable(machine_, request, plan);
    return plan;
}

}  // namespace

const port::Driver& pci() {
    static const auto& driver =
        *new const Pci{port::this_machine()};  // threads may use it while the process ends
    return driver;
}

std::unique_ptr<port::Driver> pci_on(const port::Machine& machine) {
    return std::make_unique<Pci>(machine);
}

}  // namespace spead::drivers
