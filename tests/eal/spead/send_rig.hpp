// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "base/verify_sequence.hpp"
#include "spead/send.hpp"
#include "spead/session.hpp"
#include "stats/snapshot.hpp"
#include "tests/support/refusal.hpp"

/// Makes streams of the library's front door that send.
namespace spead::test {

constexpr std::size_t kHeapBytes = 20'000;

inline stats::Snapshot snapshot() {
    return door::Session::current()->on_engine([](runtime::Engine& engine) { return engine.snapshot(); });
}

inline void fill(std::span<std::byte> payload, std::uint64_t cnt) {
    verify_generate(payload, verify_heap_start(cnt, payload.size() / 4));
}

/// Sends packets to a port that drops them. The first 64 KiB of a heap leave at once, the rest at `rate`.
inline SendConfig to_nowhere(double rate, std::uint32_t max_heaps = 4) {
    SendConfig config;
    config.endpoints = {"239.1.2.3:7148"};
    config.interface = "net_null0";
    config.rate = rate;
    config.max_heaps = max_heaps;
    return config;
}

/// Takes hours at this rate.
constexpr double kHours = 100;
constexpr std::size_t kLong = 1 << 20;

class SendTest : public testing::Test {
  protected:
    Process process;
};

}  // namespace spead::test
