// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/table.hpp"

#include <array>

namespace spead::drivers {

std::span<const port::Driver* const> table() {
    static const std::array drivers{&ring(),      &pcap(),   &null(), &kernel(), &memif(),
                                    &af_packet(), &af_xdp(), &tap(),  &vhost(),  &virtio_user(),
                                    &mlx5(),      &mlx4(),   &pci()};
    return drivers;
}

}  // namespace spead::drivers
