// SPDX-License-Identifier: BSD-3-Clause
#include "config/sink_faults.hpp"

#include <gtest/gtest.h>

namespace spead::config {
namespace {

runtime::Plan two_streams() {
    runtime::Plan plan;
    plan.receives.resize(2);
    plan.receives[0].name = "s0";
    plan.receives[1].name = "s1";
    return plan;
}

TEST(SinkFaults, OnlyADadaSinkHasARingAndAHeader) {
    runtime::Plan plan = two_streams();
    EXPECT_EQ(sink_fault(plan), std::nullopt);
    plan.receives[1].sink.header = "t";
    ASSERT_TRUE(sink_fault(plan));
    EXPECT_EQ(sink_fault(plan)->path, "receive[1].sink.header");
    plan.receives[1].sink.ring = "dada";
    EXPECT_EQ(sink_fault(plan)->path, "receive[1].sink.ring");
    EXPECT_NE(sink_fault(plan)->what.find("this one is `null`"), std::string::npos);
    plan.receives[1].sink.kind = runtime::SinkKind::dada;
    EXPECT_EQ(sink_fault(plan), std::nullopt);
}

TEST(SinkFaults, OnlyChunksHaveNotices) {
    runtime::Plan plan = two_streams();
    plan.receives[0].sink.notify = "tcp:0";
    ASSERT_TRUE(sink_fault(plan));
    EXPECT_EQ(sink_fault(plan)->path, "receive[0].sink.notify");
    plan.receives[0].chunk.emplace();
    EXPECT_FALSE(sink_fault(plan));
}

TEST(SinkFaults, StreamsHaveRingsOfTheirOwn) {
    runtime::Plan plan = two_streams();
    for (auto& r : plan.receives)
        r.sink.kind = runtime::SinkKind::dada;
    ASSERT_TRUE(sink_fault(plan));
    EXPECT_NE(sink_fault(plan)->what.find("the ring of stream `s0`"), std::string::npos);
    for (const char* near : {"dad9", "dadb", "DADA"}) {
        plan.receives[1].sink.ring = near;
        EXPECT_TRUE(sink_fault(plan)) << near;
    }
    for (const char* apart : {"dad8", "dadc"}) {
        plan.receives[1].sink.ring = apart;
        EXPECT_FALSE(sink_fault(plan)) << apart;
    }
}

}  // namespace
}  // namespace spead::config
