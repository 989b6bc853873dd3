// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "drivers/netdev_mtu.hpp"
#include "port/device_string.hpp"
#include "port/driver.hpp"

/// Holds the common parts of mlx5 and mlx4: cards that DPDK uses through RDMA's verbs while the kernel keeps
/// them. Internal to drivers/.
namespace spead::drivers {

/// Holds names of a generation of cards, and the largest MTU of their network interfaces.
struct MlxGeneration {
    std::string_view name;           ///< the family's
    std::string_view kernel_driver;  ///< the card stays bound to it
    std::string_view verbs_module;
    std::uint32_t most_mtu = 0;
};

class MlxDriver : public port::Driver {
  public:
    MlxDriver(const port::Machine& machine, const MlxGeneration& generation)
        : machine_(machine), generation_(generation) {}

    std::string_view name() const override { return generation_.name; }
    bool pci() const override { return true; }
    bool drives(const port::PciDevice& card) const override {
        return card.vendor == port::kMellanox && card.driver == generation_.kernel_driver;
    }
    port::Capabilities declared() const override;
    void apply(port::PreparedDevice& plan) const override { apply_netdev_mtu(plan); }
    void released(const port::PreparedDevice& plan) const noexcept override { restore_netdev_mtu(plan); }

  protected:
    /// Returns the card behind a network interface of the kernel; none if it is not one of these.
    std::optional<port::PciDevice> card_of(const std::string& netdev) const;

    /// Returns the card that a request names. Throws Error unless it exists, is bound to the kernel's driver
    /// and usable through verbs (/dev/infiniband), and this process may use it (CAP_NET_RAW). Each error
    /// names the missing condition and the command that fixes it.
    port::PciDevice usable_card(const port::DeviceString& device, const std::string& where) const;

    /// Returns a plan with the values that depend on the card's network interface: its MTU, the sizes of
    /// queues and pools.
    port::PreparedDevice plan_on(const port::PortRequest& request, const port::DeviceString& device,
                                 const port::NetdevFacts& netdev) const;

    const port::Machine& machine_;

  private:
    const MlxGeneration generation_;
};

/// Adds `key=value` unless the user gave the key, or EAL has the device already.
void recommend(const port::PortRequest& request, port::DeviceString& device, std::string_view key,
               std::string value);

}  // namespace spead::drivers
