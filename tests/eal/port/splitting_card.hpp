// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include "port/split_sizes.hpp"
#include "tests/eal/port/card.hpp"

/// Stands in for a card that cuts packets into headers and data.
namespace spead::port::test {

/// Cuts in hardware, as far as calls tell; the device underneath takes whole packets.
class SplittingCard final : public Card {
  public:
    bool cuts = true;
    std::vector<std::uint16_t> lengths;  ///< of the segments of the last queue
    std::vector<rte_mempool*> pools;     ///< likewise
    std::uint64_t offloads = 0;

    int info(std::uint16_t port, rte_eth_dev_info& info) override {
        const int result = Card::info(port, info);
        if (cuts) {
            info.rx_offload_capa |= RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT | RTE_ETH_RX_OFFLOAD_SCATTER;
            info.rx_seg_capa.max_nseg = 4;
            info.rx_seg_capa.multi_pools = 1;
        }
        return result;
    }
    int configure(std::uint16_t port, std::uint16_t rx, std::uint16_t tx, const rte_eth_conf& conf) override {
        offloads = conf.rxmode.offloads;
        rte_eth_conf plain = conf;
        plain.rxmode.offloads &= ~(RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT | RTE_ETH_RX_OFFLOAD_SCATTER);
        return Card::configure(port, rx, tx, plain);
    }
    int rx_queue_setup(std::uint16_t port, std::uint16_t queue, std::uint16_t descriptors, unsigned socket,
                       const rte_eth_rxconf& conf, rte_mempool* pool) override {
        calls.emplace_back("queue");
        EXPECT_EQ(pool, nullptr) << "the segments have the pools";
        lengths.clear();
        pools.clear();
        for (unsigned i = 0; i < conf.rx_nseg; i++) {
            lengths.push_back(conf.rx_seg[i].split.length);
            pools.push_back(conf.rx_seg[i].split.mp);
        }
        rte_eth_rxconf plain = conf;
        plain.rx_seg = nullptr;
        plain.rx_nseg = 0;
        return Card::rx_queue_setup(port, queue, descriptors, socket, plain, pools.front());
    }
};

/// Plans net_null as a card that cuts.
class SplittingDriver final : public Driver {
  public:
    std::string_view name() const override { return "net_null"; }
    Capabilities declared() const override {
        Capabilities c = null_.declared();
        c.splitting = Splitting::card;
        return c;
    }
    PreparedDevice plan(const PortRequest& r) const override {
        PreparedDevice p = null_.plan(r);
        p.capabilities.splitting = Splitting::card;
        if (r.split != 0)
            p.split = card_split(r, rx_frame_of(r.max_rx_packet), 4096, p.rx);
        return p;
    }

  private:
    const Driver& null_ = *find_driver(drivers::table(), "net_null0");
};

}  // namespace spead::port::test
