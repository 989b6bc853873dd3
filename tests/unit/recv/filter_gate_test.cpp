// SPDX-License-Identifier: BSD-3-Clause
#include "recv/filter_gate.hpp"

#include <gtest/gtest.h>

namespace spead::recv {
namespace {

class Counting : public PacketFilter {
  public:
    explicit Counting(int& ended) : ended_(ended) {}
    FilterAnswer look(const FilterPacket&) noexcept override { return FilterAnswer::keep; }
    void ending() noexcept override { ended_++; }

  private:
    int& ended_;
};

/// Tests a stream that is leaving when the run ends. Its filter gets ending() once, not twice.
TEST(FilterGate, TellsTheEndOnce) {
    int ended = 0;
    FilterGate gate(std::make_unique<Counting>(ended), 0);
    gate.ending();
    gate.ending();
    EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace spead::recv
