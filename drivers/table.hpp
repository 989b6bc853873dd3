// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>

#include "port/driver.hpp"

/// Lists every family of poll-mode drivers of the program, one file each beside this one.
namespace spead::drivers {

const port::Driver& ring();
const port::Driver& pcap();
const port::Driver& null();
const port::Driver& kernel();
const port::Driver& memif();
const port::Driver& af_packet();
const port::Driver& af_xdp();
const port::Driver& tap();
const port::Driver& vhost();
const port::Driver& virtio_user();
const port::Driver& mlx5();
const port::Driver& mlx4();
const port::Driver& pci();

/// Makes the families that read the machine's /sys, for another machine; `machine` must outlive them.
std::unique_ptr<port::Driver> mlx5_on(const port::Machine& machine);
std::unique_ptr<port::Driver> mlx4_on(const port::Machine& machine);
std::unique_ptr<port::Driver> pci_on(const port::Machine& machine);

/// Returns all of them; the objects live as long as the program.
std::span<const port::Driver* const> table();

}  // namespace spead::drivers
