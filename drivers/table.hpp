// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "port/driver.hpp"

/// Every family of poll-mode drivers that the program knows, one file each beside this one.
namespace spead::drivers {

const port::Driver& ring();
const port::Driver& pcap();
const port::Driver& null();
const port::Driver& memif();
const port::Driver& af_packet();
const port::Driver& tap();

/// All of them; the objects live as long as the program.
std::span<const port::Driver* const> table();

}  // namespace spead::drivers
