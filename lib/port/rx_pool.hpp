// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "port/sizes.hpp"

struct rte_mempool;

/// Makes receive pools in the layouts that PMDs need. Internal to lib/port.
namespace spead::port {

/// Makes a pool of sizes.mbufs packet mbufs; null with rte_errno set when there is no memory for it.
///
/// `slot` 0: the layout of rte_pktmbuf_pool_create. Otherwise every mbuf takes exactly `slot` bytes of one
/// piece of memory without gaps that begins on a multiple of the 4 KiB page: an object's header, the rte_mbuf
/// and sizes.data_room fill the slot (see slot_data_room). For a PMD that hands the pool's memory to the
/// kernel and addresses slots by their number (net_af_xdp).
rte_mempool* make_rx_pool(const std::string& name, const QueueSizes& sizes, std::uint32_t slot,
                          int socket_id);

}  // namespace spead::port
