// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/change.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::runtime {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Kind = Change::Kind;

ReceivePlan stream(const std::string& name, const std::string& endpoint) {
    ReceivePlan r;
    r.name = name;
    r.port = "p0";
    r.endpoint_texts = {endpoint};
    r.endpoints = parse_endpoints(endpoint);
    return r;
}

Plan plan_of_two() {
    Plan plan;
    plan.ports = {{"p0", "net_ring0"}, {"p1", "net_null0"}};
    plan.receives = {stream("s0", "239.1.0.0+3:7148"), stream("s1", "239.2.0.0:7148")};
    SendPlan s;
    s.name = "d0";
    s.port = "p1";
    plan.sends = {s};
    return plan;
}

/// Returns the change of s0 for an edited plan.
Change::Receive change_of_first(const std::function<void(ReceivePlan&)>& edit) {
    const Plan now = plan_of_two();
    Plan wanted = now;
    edit(wanted.receives[0]);
    const Change change = compare(now, wanted);
    EXPECT_EQ(change.receives[1].kind, Kind::none) << "the other one is left alone";
    EXPECT_THAT(change.removed, IsEmpty());
    return change.receives[0];
}

TEST(Change, NothingDiffers) {
    const Change::Receive r = change_of_first([](ReceivePlan&) {});
    EXPECT_EQ(r.before, 0u);
    EXPECT_EQ(r.kind, Kind::none);
    EXPECT_FALSE(r.new_sink);
}

TEST(Change, WhatNoPacketNoticesIsNoChange) {
    EXPECT_EQ(change_of_first([](ReceivePlan& r) { r.poll = PollMode::busy; }).kind, Kind::none);
    EXPECT_EQ(change_of_first([](ReceivePlan& r) { r.max_poll = 77; }).kind, Kind::none);
    EXPECT_EQ(change_of_first([](ReceivePlan& r) { r.expected_rate = 1e9; }).kind, Kind::none);
    EXPECT_EQ(change_of_first([](ReceivePlan& r) { r.silent_after = 2; }).kind, Kind::none);
    EXPECT_EQ(change_of_first([](ReceivePlan& r) { r.loss_threshold = 0.5; }).kind, Kind::none);
    EXPECT_EQ(change_of_first([](ReceivePlan& r) {
                  r.endpoint_texts = {"239.1.0.0+1:7148", "239.1.0.2+1:7148"};
              }).kind,
              Kind::none)
        << "the same endpoints, written otherwise";
}

TEST(Change, EndpointsKeepTheWindows) {
    EXPECT_EQ(change_of_first([](ReceivePlan& r) { r.endpoints.pop_back(); }).kind, Kind::endpoints);
    EXPECT_EQ(change_of_first([](ReceivePlan& r) {
                  r.endpoints.push_back({{0xEF090909}, 7148, {}});
              }).kind,
              Kind::endpoints);
}

TEST(Change, AllElseBeginsAnew) {
    EXPECT_EQ(change_of_first([](ReceivePlan& r) { r.lcores = {3}; }).kind, Kind::lanes);
    EXPECT_EQ(change_of_first([](ReceivePlan& r) { r.queue_depth = 7; }).kind, Kind::lanes);
    EXPECT_EQ(change_of_first([](ReceivePlan& r) { r.filter = "heap % 2 == 0"; }).kind, Kind::lanes);
    EXPECT_EQ(change_of_first([](ReceivePlan& r) { r.port = "p1"; }).kind, Kind::lanes);
}

TEST(Change, ASinkIsFinishedWhenItIsAnotherOrTheStreamRests) {
    const Change::Receive other = change_of_first([](ReceivePlan& r) { r.sink = {SinkKind::file, "out"}; });
    EXPECT_EQ(other.kind, Kind::lanes);
    EXPECT_TRUE(other.new_sink);
    const Change::Receive rests = change_of_first([](ReceivePlan& r) { r.enabled = false; });
    EXPECT_EQ(rests.kind, Kind::lanes);
    EXPECT_TRUE(rests.new_sink);
    // The sink reads heaps through the engine.
    const Change::Receive elsewhere = change_of_first([](ReceivePlan& r) { r.engine = HeapEngine::fake; });
    EXPECT_EQ(elsewhere.kind, Kind::lanes);
    EXPECT_TRUE(elsewhere.new_sink);
}

TEST(Change, StreamsComeAndGoByName) {
    const Plan now = plan_of_two();
    Plan wanted = now;
    wanted.receives = {stream("s2", "239.3.0.0:7148"), now.receives[1]};
    const Change change = compare(now, wanted);
    EXPECT_FALSE(change.receives[0].before.has_value());
    EXPECT_EQ(change.receives[0].kind, Kind::lanes);
    EXPECT_EQ(change.receives[1].before, 1u);
    EXPECT_EQ(change.receives[1].kind, Kind::none);
    EXPECT_EQ(change.removed, std::vector<std::size_t>{0});
}

TEST(Change, PortsKeepTheOrderThatRuns) {
    const Plan now = plan_of_two();
    Plan wanted = now;
    std::swap(wanted.ports[0], wanted.ports[1]);
    compare(now, wanted);
    EXPECT_EQ(wanted, now);
}

TEST(Change, SendersComeAndGoByName) {
    Plan now = plan_of_two();
    now.sends.push_back(now.sends[0]);
    now.sends[1].name = "d1";
    Plan wanted = now;
    wanted.sends[0].name = "d2";
    wanted.sends[0].heap_size = 1000;
    std::swap(wanted.sends[0], wanted.sends[1]);
    const Change change = compare(now, wanted);
    ASSERT_EQ(change.sends.size(), 2u);
    EXPECT_EQ(change.sends[0].before, 1u);
    EXPECT_FALSE(change.sends[1].before.has_value());
    EXPECT_EQ(change.removed_sends, std::vector<std::size_t>{0});
    EXPECT_EQ(wanted.sends[1].name, "d2") << "the wanted order stays";
}

TEST(Change, WhatCannotChangeIsNamed) {
    const Plan now = plan_of_two();
    const auto refused = [&now](const std::function<void(Plan&)>& edit, const std::string& where) {
        Plan wanted = now;
        edit(wanted);
        try {
            compare(now, wanted);
            ADD_FAILURE() << "accepted: " << where;
        } catch (const Error& e) {
            EXPECT_THAT(e.what(), HasSubstr(where));
        }
    };
    refused([](Plan& p) { p.ports[1].device = "net_null1"; }, "port p1");
    refused([](Plan& p) { p.ports.pop_back(); }, "port p1");
    refused([](Plan& p) { p.ports.push_back({"p2", "net_null2"}); }, "port p2");
    refused([](Plan& p) { p.runtime.name = "other"; }, "[runtime]");
    refused([](Plan& p) { p.memory.heaps = 1; }, "[memory]");
    refused([](Plan& p) { p.end.heaps = 1; }, "[end]");
    refused([](Plan& p) { p.sends[0].items = 9; }, "send d0");
    refused([](Plan& p) { p.receives[0].capture.emplace(); }, "receive s0");
    Plan wanted = now;
    wanted.sends[0].rate = 1e6;
    wanted.sends[0].ttl = 9;
    wanted.sends[0].enabled = false;
    wanted.end.duration = 5;
    EXPECT_NO_THROW(compare(now, wanted));
}

/// Holds a port, and the one that the configuration made for s0, which wants kernel sockets.
Plan plan_with_kernel_sockets() {
    Plan plan = plan_of_two();
    plan.ports.push_back({"p0-kernel", "net_kernel,iface=lo"});
    plan.receives[0].port = "p0-kernel";
    plan.receives[0].backend = Backend::kernel;
    return plan;
}

std::string refusal(const Plan& now, Plan wanted) {
    try {
        compare(now, wanted);
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

TEST(Change, TheBackendCannotChangeAndIsNamedBeforeThePortsThatItTakes) {
    const Plan now = plan_of_two();
    const Plan wanted = plan_with_kernel_sockets();
    constexpr const char* kRefusal =
        "receive s0: its `backend` cannot change while the program runs; end the program and start it with "
        "the new configuration";
    EXPECT_EQ(refusal(now, wanted), kRefusal);
    EXPECT_EQ(refusal(wanted, now), kRefusal);
    Plan other = now;
    other.receives.push_back(stream("s2", "239.3.0.0:7148"));
    other.ports.push_back(wanted.ports.back());
    EXPECT_THAT(refusal(now, other),
                HasSubstr("a stream with `backend = \"kernel\"` needs this port, and it cannot be added"));
    other = now;
    other.ports[0].device = "net_kernel,iface=lo";
    EXPECT_THAT(refusal(now, other),
                HasSubstr("port p0: streams with `backend = \"kernel\"` and others cannot "
                          "take turns on net_ring0"));
    EXPECT_THAT(refusal(other, now), HasSubstr("cannot take turns on net_ring0"));
}

// The user has not written this port, and cannot keep it.
TEST(Change, ThePortOfABackendStaysWhenItsStreamGoes) {
    const Plan now = plan_with_kernel_sockets();
    Plan wanted = plan_of_two();
    wanted.receives.erase(wanted.receives.begin());
    const Change change = compare(now, wanted);
    EXPECT_EQ(wanted.ports, now.ports);
    EXPECT_THAT(change.removed, testing::ElementsAre(0));
}

}  // namespace
}  // namespace spead::runtime
