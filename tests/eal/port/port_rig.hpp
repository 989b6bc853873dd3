// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/error.hpp"
#include "drivers/table.hpp"
#include "port/port.hpp"
#include "tests/support/refusal.hpp"

/// Provides the EAL tests of ports with requests, pools, and frames that can be distinguished.
namespace spead::port::test {

using spead::test::error_of;

inline PortRequest request(std::string device, std::uint16_t rx = 1, std::uint16_t tx = 1,
                           std::uint32_t max_packet = 1472) {
    PortRequest r;
    r.name = "p0";
    r.device = std::move(device);
    r.rx_queues = rx;
    r.tx_queues = tx;
    r.max_rx_packet = max_packet;
    r.max_tx_packet = tx == 0 ? 0 : max_packet;
    return r;
}

inline std::unique_ptr<Port> open_port(const PortRequest& r) {
    return Port::open(r, drivers::table());
}

inline PreparedDevice plan(const PortRequest& r) {
    return plan_ports({&r, 1}, drivers::table()).front().device;
}

/// Owns a sender's pool. The destructor fails the test unless every mbuf is back.
class Pool {
  public:
    explicit Pool(unsigned mbufs = 1023, std::uint16_t data_room = 2048 + RTE_PKTMBUF_HEADROOM) {
        static unsigned count = 0;
        const std::string name = "test_pool_" + std::to_string(count++);
        pool_ = rte_pktmbuf_pool_create(name.c_str(), mbufs, 0, 0, data_room, SOCKET_ID_ANY);
        if (pool_ == nullptr) {
            throw Error("the test's pool cannot be made");
        }
    }
    ~Pool() {
        EXPECT_TRUE(full()) << in_use() << " mbufs missing";
        rte_mempool_free(pool_);
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    rte_mempool* get() const { return pool_; }
    unsigned in_use() const { return rte_mempool_in_use_count(pool_); }
    bool full() const { return rte_mempool_full(pool_) == 1; }

    /// Returns a single-segment mbuf with these bytes.
    rte_mbuf* make(const std::vector<std::uint8_t>& bytes) const {
        rte_mbuf* m = rte_pktmbuf_alloc(pool_);
        char* data = m == nullptr ? nullptr : rte_pktmbuf_append(m, static_cast<std::uint16_t>(bytes.size()));
        if (data == nullptr) {
            throw Error("the test's pool has no room");
        }
        std::copy(bytes.begin(), bytes.end(), data);
        return m;
    }

    /// Returns the bytes in segments of at most `segment`.
    rte_mbuf* make_chain(const std::vector<std::uint8_t>& bytes, std::size_t segment) const {
        rte_mbuf* head = nullptr;
        for (std::size_t at = 0; at < bytes.size(); at += segment) {
            const auto end = std::min(bytes.size(), at + segment);
            rte_mbuf* m = make({bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                bytes.begin() + static_cast<std::ptrdiff_t>(end)});
            if (head == nullptr) {
                head = m;
            } else {
                rte_pktmbuf_chain(head, m);
            }
        }
        return head;
    }

  private:
    rte_mempool* pool_ = nullptr;
};

/// Returns an Ethernet frame of an experimental type (RFC 7042: 0x88B5), with bytes made from its number.
inline std::vector<std::uint8_t> frame(std::uint32_t number, std::size_t length) {
    std::vector<std::uint8_t> bytes(length);
    for (std::size_t i = 0; i < length; ++i) {
        bytes[i] = static_cast<std::uint8_t>(number * 131 + i * 7);
    }
    const std::array<std::uint8_t, 14> header{0x01, 0x00, 0x5E, 0x01, 0x02, 0x03, 0x02,
                                              0x00, 0x00, 0x00, 0x00, 0x01, 0x88, 0xB5};
    std::copy_n(header.begin(), std::min(length, header.size()), bytes.begin());
    return bytes;
}

inline std::vector<std::uint8_t> bytes_of(const rte_mbuf* m) {
    std::vector<std::uint8_t> bytes;
    for (; m != nullptr; m = m->next) {
        const auto* data = rte_pktmbuf_mtod(m, const std::uint8_t*);
        bytes.insert(bytes.end(), data, data + m->data_len);
    }
    return bytes;
}

/// Polls a queue until `wanted` packets have come or it has been empty `patience` times in a row.
inline std::vector<std::vector<std::uint8_t>> receive(const RxQueue& queue, std::size_t wanted,
                                                      unsigned patience = 1000) {
    std::vector<std::vector<std::uint8_t>> packets;
    unsigned empty = 0;
    while (packets.size() < wanted && empty < patience) {
        std::array<rte_mbuf*, 32> mbufs{};
        const std::uint16_t n = queue.rx_burst(mbufs.data(), mbufs.size());
        for (std::uint16_t i = 0; i < n; ++i) {
            packets.push_back(bytes_of(mbufs[i]));
            rte_pktmbuf_free(mbufs[i]);
        }
        empty = n == 0 ? empty + 1 : 0;
    }
    return packets;
}

/// Sends one mbuf; frees it and returns false when the queue does not take it.
inline bool send(const TxQueue& queue, rte_mbuf* m) {
    if (queue.tx_burst(&m, 1) == 1) {
        return true;
    }
    rte_pktmbuf_free(m);
    return false;
}

/// Holds user memory that an mbuf points at, and counts how often the driver gave it back.
class ExternalBuffer {
  public:
    explicit ExternalBuffer(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {
        info_.free_cb = [](void*, void* self) { ++static_cast<ExternalBuffer*>(self)->released_; };
        info_.fcb_opaque = this;
    }
    ExternalBuffer(const ExternalBuffer&) = delete;
    ExternalBuffer& operator=(const ExternalBuffer&) = delete;

    /// Returns an mbuf of `pool` that refers to the bytes. One at a time.
    rte_mbuf* attach(const Pool& pool) {
        rte_mbuf* m = rte_pktmbuf_alloc(pool.get());
        rte_mbuf_ext_refcnt_set(&info_, 1);
        const auto length = static_cast<std::uint16_t>(bytes_.size());
        rte_pktmbuf_attach_extbuf(m, bytes_.data(), RTE_BAD_IOVA, length, &info_);
        m->data_len = length;
        m->pkt_len = length;
        return m;
    }
    int released() const { return released_; }

  private:
    std::vector<std::uint8_t> bytes_;
    rte_mbuf_ext_shared_info info_{};
    std::atomic<int> released_{0};
};

/// Makes a directory that goes away with the test.
class Directory {
  public:
    Directory() {
        std::string name = (std::filesystem::temp_directory_path() / "spead-port-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw Error("no temporary directory");
        }
        path_ = name;
    }
    ~Directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;

    std::string file(const std::string& name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

}  // namespace spead::port::test
