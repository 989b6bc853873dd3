// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

struct rte_device;
struct rte_eth_conf;
struct rte_eth_dev_info;
struct rte_eth_rxconf;
struct rte_eth_stats;
struct rte_flow;
struct rte_flow_action;
struct rte_flow_attr;
struct rte_flow_error;
struct rte_flow_item;
struct rte_mempool;

/// Wraps the DPDK calls whose order matters to a device: isolation before configure, rules only while it
/// runs, memory registered before it is mapped, and unmapped when nothing in flight needs it. Wraps its clock
/// and its counts, too. lib/port makes these calls through this interface, so that a test can record them, or
/// answer for an absent card.
namespace spead::port {

/// Declares the calls. Control code, one thread at a time. Results are those of the DPDK functions of the
/// same name.
class DeviceCalls {
  public:
    virtual ~DeviceCalls() = default;

    virtual int info(std::uint16_t port, rte_eth_dev_info& info);
    virtual int configure(std::uint16_t port, std::uint16_t rx, std::uint16_t tx, const rte_eth_conf& conf);
    virtual int rx_queue_setup(std::uint16_t port, std::uint16_t queue, std::uint16_t descriptors,
                               unsigned socket, const rte_eth_rxconf& conf, rte_mempool* pool);
    virtual int start(std::uint16_t port);
    virtual int stop(std::uint16_t port);
    virtual int close(std::uint16_t port);

    /// Calls rte_eth_stats_get.
    virtual int stats(std::uint16_t port, rte_eth_stats& stats);
    /// Calls rte_eth_read_clock.
    virtual int read_clock(std::uint16_t port, std::uint64_t& ticks);

    virtual int flow_isolate(std::uint16_t port, bool set, rte_flow_error& error);
    virtual int flow_validate(std::uint16_t port, const rte_flow_attr& attr, const rte_flow_item* pattern,
                              const rte_flow_action* actions, rte_flow_error& error);
    virtual rte_flow* flow_create(std::uint16_t port, const rte_flow_attr& attr, const rte_flow_item* pattern,
                                  const rte_flow_action* actions, rte_flow_error& error);
    virtual int flow_destroy(std::uint16_t port, rte_flow* flow, rte_flow_error& error);
    virtual int flow_query(std::uint16_t port, rte_flow* flow, const rte_flow_action& action, void* data,
                           rte_flow_error& error);

    virtual int extmem_register(void* base, std::size_t length, std::size_t page);
    virtual int extmem_unregister(void* base, std::size_t length);
    virtual int dma_map(rte_device* device, void* base, std::uint64_t iova, std::size_t length);
    virtual int dma_unmap(rte_device* device, void* base, std::uint64_t iova, std::size_t length);
};

/// Returns DPDK itself, or a test's replacement.
DeviceCalls& device_calls() noexcept;

/// Returns the text of an error number of DPDK, whatever its sign.
std::string reason_of(int error);

/// Replaces DPDK by `calls` during its life, for tests. Not while other ports are open.
class DeviceCallsInstead {
  public:
    explicit DeviceCallsInstead(DeviceCalls& calls) noexcept;
    ~DeviceCallsInstead();
    DeviceCallsInstead(const DeviceCallsInstead&) = delete;
    DeviceCallsInstead& operator=(const DeviceCallsInstead&) = delete;

  private:
    DeviceCalls* before_;
};

}  // namespace spead::port
