// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/endpoint.hpp"
#include "runtime/plan.hpp"

/// Provides plans from which tests start.
namespace spead::test {

inline runtime::ReceivePlan receive_plan(const std::string& name, const std::string& endpoints) {
    runtime::ReceivePlan r;
    r.name = name;
    r.port = "p0";
    r.endpoint_texts = {endpoints};
    r.endpoints = parse_endpoints(endpoints);
    return r;
}

inline runtime::SendPlan send_plan(const std::string& name, const std::string& endpoints) {
    runtime::SendPlan s;
    s.name = name;
    s.port = "p0";
    s.endpoint_texts = {endpoints};
    s.endpoints = parse_endpoints(endpoints);
    return s;
}

/// Returns a plan with one port, one stream that is received, and one sender to another endpoint.
inline runtime::Plan valid_plan() {
    runtime::Plan plan;
    plan.ports.push_back({"p0", "net_ring0", 0});
    plan.receives.push_back(receive_plan("s0", "239.1.2.3:7148"));
    plan.sends.push_back(send_plan("d0", "239.20.0.1:7148"));
    return plan;
}

}  // namespace spead::test
