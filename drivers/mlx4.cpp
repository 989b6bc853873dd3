// SPDX-License-Identifier: BSD-3-Clause
/// Drives mlx4: ConnectX-3, through verbs beside the kernel's driver.
///
/// Facts (drivers/net/mlx4 and doc/guides of DPDK 22.11; not seen on hardware): both ports of a card share
/// one PCI address, and `port=` (0 or 1) chooses; a second probe of the address finds it taken. Flow rules
/// need device-managed flow steering, a negative log_num_mgm_entry_size of the module mlx4_core; -7 does not
/// support VLANs. Rules have no COUNT. Completions are requested once in 64 packets, however many segments
/// they have. So the segments that stay inside have no bound, and sent packets are copied. The PMD does not
/// write the MTU to the network interface.
#include <algorithm>
#include <memory>

#include <fmt/ranges.h>

#include "drivers/card.hpp"
#include "drivers/common.hpp"
#include "drivers/interface.hpp"
#include "drivers/mlx.hpp"
#include "drivers/table.hpp"

namespace spead::drivers {

namespace {

constexpr std::uint16_t kLatePackets = 63;                                     // MLX4_PMD_TX_PER_COMP_REQ - 1
constexpr MlxGeneration kConnectX3{"net_mlx4", "mlx4_core", "mlx4_ib", 9900};  // mlx4_en's MTU
constexpr std::string_view kSteeringMode = "/sys/module/mlx4_core/parameters/log_num_mgm_entry_size";

class Mlx4 final : public MlxDriver {
  public:
    explicit Mlx4(const port::Machine& machine) : MlxDriver(machine, kConnectX3) {}

    port::Capabilities declared() const override {
        port::Capabilities c = MlxDriver::declared();
        c.late_free_segments = kLatePackets;  // copied packets have one segment
        return c;
    }

    std::string translate(std::string_view netdev) const override;
    port::PreparedDevice plan(const port::PortRequest& request) const override;

  private:
    std::int64_t port_of(const std::string& netdev) const {
        return machine_.files.number(fmt::format("/sys/class/net/{}/dev_port", netdev)).value_or(0);
    }
    void check_steering(const port::PortRequest& request) const;
    std::string choose_netdev(const port::PciDevice& card, const port::PortRequest& request,
                              port::DeviceString& device) const;
};

std::string Mlx4::translate(std::string_view netdev) const {
    const auto comma = std::min(netdev.find(','), netdev.size());
    const std::string name{netdev.substr(0, comma)};
    const auto card = card_of(name);
    return card ? fmt::format("{},port={}{}", card->address, port_of(name), netdev.substr(comma))
                : std::string{};
}

void Mlx4::check_steering(const port::PortRequest& request) const {
    const auto mode = machine_.files.number(kSteeringMode);
    if (mode && *mode >= 0) {
        throw_error(
            port::where(request),
            "the module mlx4_core has log_num_mgm_entry_size={}: rules need a negative one; write "
            "`options mlx4_core log_num_mgm_entry_size=-1` to /etc/modprobe.d/mlx4.conf and load it again",
            *mode);
    }
    if (mode && *mode == -7 && request.vlan) {
        throw_error(port::where(request),
                    "the module mlx4_core has log_num_mgm_entry_size=-7, which excludes VLANs, and the port "
                    "has VLAN {}; set it to -1 in /etc/modprobe.d/mlx4.conf and load it again",
                    *request.vlan);
    }
}

std::string Mlx4::choose_netdev(const port::PciDevice& card, const port::PortRequest& request,
                                port::DeviceString& device) const {
    const auto where = port::where(request);
    const auto wanted = device.number("port", 0, 1);
    std::vector<std::string> here;
    std::ranges::copy_if(card.netdevs, std::back_inserter(here), [&](const std::string& name) {
        return !wanted || port_of(name) == static_cast<std::int64_t>(*wanted);
    });
    if (here.empty()) {
        throw_error(where, "{} has no network interface here{}; is it in another network namespace?",
                    card.address, wanted ? fmt::format(" for port={}", *wanted) : std::string{});
    }
    if (here.size() > 1) {
        throw_error(where, "{} is the address of {}: name one of these, or add port=0 or port=1",
                    card.address, fmt::join(here, " and "));
    }
    // Without it the PMD makes a port for each of the card's.
    recommend(request, device, "port", std::to_string(port_of(here.front())));
    return here.front();
}

port::PreparedDevice Mlx4::plan(const port::PortRequest& request) const {
    const auto where = port::where(request);
    auto device = port::DeviceString::parse(request.device, where);
    device.check_keys({"port", "mr_ext_memseg_en", "class"});
    const auto card = usable_card(device, where);
    check_steering(request);
    const auto netdev = usable_interface(choose_netdev(card, request, device), where, machine_);
    auto plan = plan_on(request, device, netdev);
    plan.devargs = device.text();
    check_lockable(machine_, request, plan);
    return plan;
}

}  // namespace

const port::Driver& mlx4() {
    static const auto& driver =
        *new const Mlx4{port::this_machine()};  // threads may use it while the process ends
    return driver;
}

std::unique_ptr<port::Driver> mlx4_on(const port::Machine& machine) {
    return std::make_unique<Mlx4>(machine);
}

}  // namespace spead::drivers
