// SPDX-License-Identifier: BSD-3-Clause
#include "spead/recv_plan.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "runtime/paths.hpp"
#include "spead/filter_adapter.hpp"
#include "spead/plan_edits.hpp"
#include "wire/packet_format.hpp"

namespace spead::door {

namespace {

double seconds(std::chrono::nanoseconds d) {
    return std::chrono::duration<double>(d).count();
}

runtime::PollMode poll_mode(Poll poll, const std::string& where) {
    switch (poll) {
        case Poll::busy:
            return runtime::PollMode::busy;
        case Poll::interrupt:
            return runtime::PollMode::interrupt;
        case Poll::adaptive:
            return runtime::PollMode::adaptive;
    }
    throw_usage(where, "`poll` is {}, which is none of Poll's values", static_cast<unsigned>(poll));
}

runtime::OnFullSetting on_full(OnFull policy, const std::string& where) {
    switch (policy) {
        case OnFull::drop_newest:
            return runtime::OnFullSetting::drop_newest;
        case OnFull::drop_oldest:
            return runtime::OnFullSetting::drop_oldest;
        case OnFull::block:
            return runtime::OnFullSetting::block;
        case OnFull::automatic:
            return runtime::OnFullSetting::automatic;
    }
    throw_usage(where, "`on_full` is {}, which is none of OnFull's values", static_cast<unsigned>(policy));
}

memory::CopySetting copy_setting(Copy copy, const std::string& where) {
    switch (copy) {
        case Copy::cached:
            return memory::CopySetting::cached;
        case Copy::streaming:
            return memory::CopySetting::streaming;
        case Copy::automatic:
            return memory::CopySetting::automatic;
    }
    throw_usage(where, "`copy` is {}, which is none of Copy's values", static_cast<unsigned>(copy));
}

}  // namespace

void add_endpoint_to(runtime::ReceivePlan& plan, const std::string& text) {
    const std::string where = where_of("receive", plan.name);
    for (const Endpoint& e : about(where, [&text] { return parse_endpoints(text); })) {
        if (std::find(plan.endpoints.begin(), plan.endpoints.end(), e) != plan.endpoints.end())
            throw UsageError(where,
                             fmt::format("`{}`: {} is one of its endpoints already", text, to_string(e)));
        plan.endpoints.push_back(e);
    }
    plan.endpoint_texts.push_back(text);
}

namespace {

void add_twin_to(runtime::ReceivePlan& plan, const std::string& text) {
    const auto more = about(where_of("receive", plan.name), [&text] { return parse_endpoints(text); });
    plan.path_endpoints.insert(plan.path_endpoints.end(), more.begin(), more.end());
    plan.path_endpoint_texts.push_back(text);
}

/// Returns the texts of the endpoints that are left. A range that has lost some addresses is listed address
/// by address.
std::vector<std::string> texts_left(const std::vector<std::string>& texts,
                                    const std::vector<Endpoint>& endpoints) {
    const auto is_left = [&endpoints](const Endpoint& e) {
        return std::find(endpoints.begin(), endpoints.end(), e) != endpoints.end();
    };
    std::vector<std::string> left;
    for (const std::string& text : texts) {
        const std::vector<Endpoint> meant = parse_endpoints(text);
        if (std::all_of(meant.begin(), meant.end(), is_left)) {
            left.push_back(text);
            continue;
        }
        for (const Endpoint& e : meant)
            if (is_left(e))
                left.push_back(to_string(e));
    }
    return left;
}

}  // namespace

void add_endpoint_to(runtime::ReceivePlan& plan, const std::string& text, const std::string& twin) {
    const std::string where = where_of("receive", plan.name);
    if (!twin.empty() && plan.paths.empty())
        throw UsageError(where, fmt::format("`{}` would be the twin of `{}` on a second path, and the stream "
                                            "has one path; leave the twin out",
                                            twin, text));
    if (!twin.empty() && plan.path_endpoints.empty() && twin != text)
        throw UsageError(where, fmt::format("`{}` would be the twin of `{}`, and both paths have the same "
                                            "endpoints; leave the twin out",
                                            twin, text));
    const bool alike = plan.path_endpoints == plan.endpoints;
    if (twin.empty() && !plan.path_endpoints.empty() && !alike)
        throw UsageError(where,
                         fmt::format("each endpoint has a twin on the second path, and that of `{}` is "
                                     "not known; give it as the second argument",
                                     text));
    add_endpoint_to(plan, text);
    if (!plan.path_endpoints.empty())
        add_twin_to(plan, twin.empty() ? text : twin);
}

void remove_endpoint_from(runtime::ReceivePlan& plan, const std::string& text) {
    const std::string where = where_of("receive", plan.name);
    for (const Endpoint& e : about(where, [&text] { return parse_endpoints(text); })) {
        const auto found = std::find(plan.endpoints.begin(), plan.endpoints.end(), e);
        if (found == plan.endpoints.end())
            throw UsageError(where, fmt::format("`{}`: {} is not one of its endpoints", text, to_string(e)));
        if (!plan.path_endpoints.empty())
            plan.path_endpoints.erase(plan.path_endpoints.begin() + (found - plan.endpoints.begin()));
        plan.endpoints.erase(found);
    }
    if (plan.endpoints.empty())
        throw UsageError(where, fmt::format("`{}` is its last endpoint; stop the stream instead", text));
    plan.endpoint_texts = texts_left(plan.endpoint_texts, plan.endpoints);
    plan.path_endpoint_texts = texts_left(plan.path_endpoint_texts, plan.path_endpoints);
}

namespace {

/// Adds the second path. Session::add() replaces the interfaces by the names of their ports.
void add_second_path(runtime::ReceivePlan& r, const RecvConfig& c) {
    const std::string where = where_of("receive", c.name);
    const RecvConfig::SecondPath& second = *c.second_path;
    if (second.skew.count() < 0)
        throw UsageError(where, "`second_path.skew` is negative; give the time that a path may be behind");
    r.paths = {c.interface, second.interface};
    for (const std::string& text : second.endpoints)
        add_twin_to(r, text);
    r.path_skew = seconds(second.skew);
    r.max_live = std::max(r.max_live, runtime::kPathLive);
    r.history = std::max(c.history, runtime::kPathHistory);
    r.history_time = path_history_time(r.path_skew);
}

}  // namespace

runtime::ReceivePlan plan_of(const RecvConfig& c) {
    const std::string where = where_of("receive", c.name);
    if (c.endpoints.empty())
        throw UsageError(where, "it has no endpoint; give one, as \"239.10.10.0+15:7148\"");
    if (c.memory == 0)
        throw UsageError(where, "`memory` is 0; give room for some heaps, as 128 MiB");
    need_room(where, "memory", c.memory);
    need_room(where, "buffer_size", c.buffer_size);
    if (!c.filter.empty() && c.packet_filter)
        throw UsageError(where, "`filter` and `packet_filter` exclude each other; leave one out");
    if (c.heap_timeout.count() < 0)
        throw UsageError(where, "`heap_timeout` is negative; give a time, or 0 for none");
    runtime::ReceivePlan r;
    r.name = c.name;
    for (const std::string& text : c.endpoints)
        add_endpoint_to(r, text);
    r.lcores = c.lcores;
    r.poll = poll_mode(c.poll, where);
    r.max_packet_size = c.max_packet_size;
    r.buffer_size = c.buffer_size;
    r.substreams = c.substreams;
    r.in_order = c.in_order;
    r.history = c.history;
    r.stop_on_stop_item = c.stop_on_stop_item;
    r.control_heaps = c.control_heaps;
    if (!c.format.empty())
        wire::PacketFormat::parse(c.format, where);
    r.format = c.format;
    r.filter = c.filter;
    r.held_buffers = c.held_buffers;
    r.lend = c.lend;
    r.copy = copy_setting(c.copy, where);
    r.max_live = c.max_heaps;
    r.queue_depth = c.queue_depth;
    r.max_bytes = c.max_heap_bytes;
    r.memory = c.memory;
    r.timeout = seconds(c.heap_timeout);
    r.on_full = on_full(c.on_full, where);
    r.sink.kind = runtime::SinkKind::user;
    r.enabled = c.start;
    if (c.second_path)
        add_second_path(r, c);
    return r;
}

std::unique_ptr<recv::PacketFilter> make_user_filter(
    const std::string& stream, const std::function<std::unique_ptr<PacketFilter>()>& make) {
    std::unique_ptr<PacketFilter> filter = make();
    if (!filter)
        throw_error(fmt::format("receive {}", stream), "`packet_filter` made no filter");
    return std::make_unique<UserFilter>(std::move(filter));
}

}  // namespace spead::door
