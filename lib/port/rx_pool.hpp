// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "port/sizes.hpp"

struct rte_mempool;

/// Receive pools, in the shapes that PMDs want. Internal to lib/port.
namespace spead::port {

/// A pool of sizes.mbufs packet mbufs; null with rte_errno set when there is no memory for it.
///
/// `slot` 0: as rte_pktmbuf_pool_create lays it out. Else every mbuf takes exactly so many bytes of one piece
/// of memory without gaps that begins on a multiple of the 4 KiB page: an object's header, the rte_mbuf and
/// sizes.data_room fill the slot (see slot_data_room). For a PMD that hands the pool's memory to the kernel
/// and reckons with slots by their number (net_af_xdp).
rte_mempool* make_rx_pool(const std::string& name, const QueueSizes& sizes, std::uint32_t slot,
                          int socket_id);

}  // namespace spead::port
