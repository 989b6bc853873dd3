// SPDX-License-Identifier: BSD-3-Clause
#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API  // rte_dev_dma_map and rte_eth_read_clock are stable from DPDK 23.11 on
#endif
#include "port/device_calls.hpp"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_memory.h>

namespace spead::port {

namespace {

DeviceCalls dpdk;
DeviceCalls* current = &dpdk;

}  // namespace

DeviceCalls& device_calls() noexcept {
    return *current;
}

std::string reason_of(int error) {
    return rte_strerror(error < 0 ? -error : error);
}

DeviceCallsInstead::DeviceCallsInstead(DeviceCalls& calls) noexcept : before_(current) {
    current = &calls;
}

DeviceCallsInstead::~DeviceCallsInstead() {
    current = before_;
}

int DeviceCalls::info(std::uint16_t port, rte_eth_dev_info& info) {
    return rte_eth_dev_info_get(port, &info);
}

int DeviceCalls::configure(std::uint16_t port, std::uint16_t rx, std::uint16_t tx, const rte_eth_conf& conf) {
    return rte_eth_dev_configure(port, rx, tx, &conf);
}

int DeviceCalls::rx_queue_setup(std::uint16_t port, std::uint16_t queue, std::uint16_t descriptors,
                                unsigned socket, const rte_eth_rxconf& conf, rte_mempool* pool) {
    return rte_eth_rx_queue_setup(port, queue, descriptors, socket, &conf, pool);
}

int DeviceCalls::start(std::uint16_t port) {
    return rte_eth_dev_start(port);
}

int DeviceCalls::stop(std::uint16_t port) {
    return rte_eth_dev_stop(port);
}

int DeviceCalls::close(std::uint16_t port) {
    return rte_eth_dev_close(port);
}

int DeviceCalls::stats(std::uint16_t port, rte_eth_stats& stats) {
    return rte_eth_stats_get(port, &stats);
}

int DeviceCalls::read_clock(std::uint16_t port, std::uint64_t& ticks) {
    return rte_eth_read_clock(port, &ticks);
}

int DeviceCalls::flow_isolate(std::uint16_t port, bool set, rte_flow_error& error) {
    return rte_flow_isolate(port, set ? 1 : 0, &error);
}

int DeviceCalls::flow_validate(std::uint16_t port, const rte_flow_attr& attr, const rte_flow_item* pattern,
                               const rte_flow_action* actions, rte_flow_error& error) {
    return rte_flow_validate(port, &attr, pattern, actions, &error);
}

rte_flow* DeviceCalls::flow_create(std::uint16_t port, const rte_flow_attr& attr,
                                   const rte_flow_item* pattern, const rte_flow_action* actions,
                                   rte_flow_error& error) {
    return rte_flow_create(port, &attr, pattern, actions, &error);
}

int DeviceCalls::flow_destroy(std::uint16_t port, rte_flow* flow, rte_flow_error& error) {
    return rte_flow_destroy(port, flow, &error);
}

int DeviceCalls::flow_query(std::uint16_t port, rte_flow* flow, const rte_flow_action& action, void* data,
                            rte_flow_error& error) {
    return rte_flow_query(port, flow, &action, data, &error);
}

int DeviceCalls::extmem_register(void* base, std::size_t length, std::size_t page) {
    return rte_extmem_register(base, length, nullptr, 0, page);
}

int DeviceCalls::extmem_unregister(void* base, std::size_t length) {
    return rte_extmem_unregister(base, length);
}

int DeviceCalls::dma_map(rte_device* device, void* base, std::uint64_t iova, std::size_t length) {
    return rte_dev_dma_map(device, base, iova, length);
}

int DeviceCalls::dma_unmap(rte_device* device, void* base, std::uint64_t iova, std::size_t length) {
    return rte_dev_dma_unmap(device, base, iova, length);
}

}  // namespace spead::port
