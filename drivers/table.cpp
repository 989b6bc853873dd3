// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/table.hpp"

#include <array>

namespace spead::drivers {

std::span<const port::Driver* const> table() {
    static const std::array<const port::Driver*, 6> drivers{&ring(),  &pcap(),      &null(),
                                                            &memif(), &af_packet(), &tap()};
    return drivers;
}

}  // namespace spead::drivers
