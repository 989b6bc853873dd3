// SPDX-License-Identifier: BSD-3-Clause
#include "stats/finding_log.hpp"

#include <algorithm>
#include <utility>

#include "stats/diagnosis.hpp"
#include "stats/rates.hpp"
#include "stats/since.hpp"
#include "stats/stream_ports.hpp"

namespace spead::stats {

namespace {

/// Returns the one in `all` that `f`, one of `found`, goes on. A part may have several of a cause, such as
/// one for each path, which their words tell apart. Those of a single one may change.
Finding* find_same(std::vector<Finding>& all, const Finding& f, const std::vector<Finding>& found) {
    const auto alike = [&f](const Finding& other) {
        return other.cause == f.cause && other.stage == f.stage && other.where == f.where;
    };
    const auto same =
        std::ranges::find_if(all, [&](const Finding& other) { return alike(other) && other.what == f.what; });
    if (same != all.end())
        return &*same;
    if (std::ranges::count_if(all, alike) != 1 || std::ranges::count_if(found, alike) != 1)
        return nullptr;
    return &*std::ranges::find_if(all, alike);
}

/// Returns the place of a finding: losses of now, then warnings, then what is no loss, then all of earlier.
int rank_of(const Finding& f, double now) {
    constexpr int kEarlier = 3;
    return f.last_s > 0 && now - f.last_s > kLately ? kEarlier : static_cast<int>(kind_of(f.cause));
}

/// Sets the named parts in `base` to their present state.
template <typename Part>
void renew(std::vector<Part>& base, const std::vector<Part>& now, const std::vector<std::string>& names) {
    const auto named = [&](const Part& part) {
        return std::find(names.begin(), names.end(), part.name) != names.end();
    };
    std::erase_if(base, named);
    std::copy_if(now.begin(), now.end(), std::back_inserter(base), named);
}

}  // namespace

void FindingLog::find(const Snapshot& now) {
    const bool whole =
        base_.streams.empty() && base_.sends.empty() && base_.ports.empty() && base_.lcores.empty();
    std::vector<Finding> found = diagnose(whole ? now : since_changes(now, base_));
    engine_losses_.take_from(found, now);
    for (Finding& f : found) {
        const Finding* const before = find_same(holding_, f, found);
        f.first_s = before == nullptr ? now.duration_s : before->first_s;
        // One that is explained in another way later has shrunk, and is not a loss of now.
        f.last_s = before != nullptr && before->count >= f.count ? before->last_s : now.duration_s;
    }
    holding_ = std::move(found);
}

/// Finds with the declarations of the last look, which a change has replaced since.
void FindingLog::find_as_declared(Snapshot now) {
    for (StreamSnapshot& s : now.streams) {
        const auto was = std::ranges::find(declared_, s.number, &Declared::number);
        if (was == declared_.end())
            continue;
        s.has_format = was->has_format;
        s.path_ports = was->path_ports;
        s.path_endpoints = was->path_endpoints;
        s.settings = was->settings;
    }
    find(now);
}

void FindingLog::note(const Snapshot& now) {
    declared_.clear();
    for (const StreamSnapshot& s : now.streams)
        declared_.push_back({s.number, s.has_format, s.path_ports, s.path_endpoints, s.settings});
}

void FindingLog::observe(Snapshot& now) {
    losses_.observe(now);
    near_.observe(now);
    find(now);
    note(now);
    now.findings = holding_;
    std::ranges::stable_sort(*now.findings, {}, [&](const Finding& f) { return rank_of(f, now.duration_s); });
    now.findings->insert(now.findings->end(), over_.begin(), over_.end());
}

void FindingLog::changed(Snapshot& now, const std::vector<std::string>& names) {
    losses_.settle(now, names);
    near_.settle(now);
    // A part that has gone has been looked at for the last time before.
    const std::vector<Finding> before = holding_;
    find_as_declared(now);
    note(now);
    for (const Finding& f : before)
        if (find_same(holding_, f, before) == nullptr)
            holding_.push_back(f);
    const std::vector<Finding> all = holding_;
    for (auto f = holding_.begin(); f != holding_.end();) {
        if (std::find(names.begin(), names.end(), f->where) == names.end()) {
            ++f;
            continue;
        }
        f->until_s = now.duration_s;
        if (Finding* const earlier = find_same(over_, *f, all); earlier != nullptr) {
            f->count += earlier->count;
            f->first_s = earlier->first_s;
            *earlier = std::move(*f);
        } else if (f->cause != Cause::nothing_came) {
            over_.push_back(std::move(*f));
        }
        f = holding_.erase(f);
    }
    engine_losses_.forget(names);
    renew(base_.streams, now.streams, names);
    renew(base_.sends, now.sends, names);
    renew(base_.ports, now.ports, names);
    const std::vector<PortPackets> ports = packets_of_ports(now);
    for (StreamSnapshot& s : base_.streams)
        if (std::find(names.begin(), names.end(), s.name) != names.end()) {
            s.changed_s = now.duration_s;
            s.port_packets = ports;
        }
}

void FindingLog::clear(Snapshot& now) {
    losses_.settle(now);
    near_.settle(now);
    note(now);
    base_.streams = now.streams;
    base_.sends = now.sends;
    base_.ports = now.ports;
    base_.lcores = now.lcores;
    base_.engines = now.engines;
    for (StreamSnapshot& s : base_.streams) {
        s.changed_s = now.duration_s;
        s.port_packets = packets_of_ports(now);
    }
    near_.clear();
    engine_losses_.clear();
    holding_.clear();
    over_.clear();
}

}  // namespace spead::stats
