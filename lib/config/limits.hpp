// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/setting_limits.hpp"
#include "base/units.hpp"
#include "runtime/plan.hpp"

/// Holds ranges that the tables of keys (config/keys/) share with other code.
namespace spead::config {

/// Holds the range of a key in the unit of its type, with both ends included. For a list it is the range of
/// the entries.
struct Range {
    std::int64_t min = 0;
    std::int64_t max = 0;
};

template <typename T>
struct Limits {
    T min;
    T max;
    constexpr bool hold(T value) const { return value >= min && value <= max; }
    constexpr operator Range() const {
        return {static_cast<std::int64_t>(min), static_cast<std::int64_t>(max)};
    }
};

/// Limits CPU numbers to those of Linux's cpu_set_t.
inline constexpr Limits<unsigned> kCpu{0, 1023};
inline constexpr Range kTime{0, std::int64_t{1000000000}};
static_assert(kTime.max == static_cast<std::int64_t>(kMaxDuration));
inline constexpr Range kRate{0, std::int64_t{1000000000000000}};
static_assert(kRate.max == static_cast<std::int64_t>(kMaxRate));
/// Limits lcore_timeout, in seconds; an lcore is reported as silent after one.
inline constexpr Limits<double> kLcoreTimeout{1, 1e6};
/// Limits the MTU: from IPv4's smallest to the largest datagram.
inline constexpr Limits<std::uint32_t> kMtu{68, 65535};
/// Limits VLAN tags; 0 and 4095 are reserved (IEEE 802.1Q, table 9-2).
inline constexpr Limits<std::uint16_t> kVlan{1, 4094};
/// Limits datagrams in the making from fragments. At most 32768 buffers hold them.
inline constexpr Limits<std::uint32_t> kReassembledDatagrams{16, kMostReassembled};
/// Limits the bytes of split packets that stay with the CPU: from the longest headers before SPEAD's on.
inline constexpr Limits<std::uint32_t> kSplit{134, 9216};
inline constexpr Limits<std::uint64_t> kMemoryHeaps{4096, kMostHeapMemory};

/// Limits received packets. 65507 bytes are the most that UDP carries in IPv4. 32 bytes are a SPEAD header
/// with the three pointers that every packet has.
inline constexpr Limits<std::uint32_t> kReceivePacket{32, kMostPacket};
/// Limits heaps; their coverage is kept in 32-bit ranges.
inline constexpr Limits<std::uint64_t> kMaxHeapBytes{1, kMostHeapBytes};

/// Limits sent packets. 56 bytes are the smallest packet of spead2's packetisation.
inline constexpr Limits<std::uint32_t> kSendPacket{56, 65507};
inline constexpr Limits<double> kBurstRateRatio{1.0, 1000.0};
inline constexpr Limits<std::uint64_t> kHeapSize{4, std::uint64_t{1} << 46};
inline constexpr Limits<std::uint32_t> kInFlight{1, 65536};
inline constexpr std::int64_t kMaxHeapCount = (std::int64_t{1} << 56) - 1;

inline constexpr std::size_t kCaptureFiles = 16;

/// Holds the bytes of IPv4 and UDP headers: an MTU minus these is the largest UDP payload.
inline constexpr std::uint32_t kIpUdpHeaders = 28;
/// Holds the first id of generated items (spead2's tools).
inline constexpr std::uint64_t kFirstItemId = 0x1000;
/// Holds an upper limit for the descriptor of a generated item.
inline constexpr std::uint64_t kDescriptorBytes = 512;

/// Returns the size in bytes of a sender's largest heap: the first one to each endpoint, which usually
/// carries the descriptors besides the data. A pattern has no descriptors.
inline constexpr std::uint64_t largest_heap(const runtime::SendPlan& s) {
    if (s.pattern != HeapPattern::none)
        return s.heap_size;
    const std::uint64_t descriptors = s.items * kDescriptorBytes;
    return runtime::describes_apart(s) ? std::max(s.heap_size, descriptors) : s.heap_size + descriptors;
}

}  // namespace spead::config
