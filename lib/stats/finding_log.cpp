// SPDX-License-Identifier: BSD-3-Clause
#include "stats/finding_log.hpp"

#include <algorithm>
#include <utility>

#include "stats/diagnosis.hpp"
#include "stats/rates.hpp"
#include "stats/since.hpp"

namespace spead::stats {

namespace {

Finding* find_same(std::vector<Finding>& all, const Finding& f) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const Finding& other) {
        return other.cause == f.cause && other.stage == f.stage && other.where == f.where;
    });
    return same == all.end() ? nullptr : &*same;
}

/// Returns the place of a finding: losses of now, then what is no loss, then losses of earlier.
int rank_of(const Finding& f, double now) {
    if (f.last_s > 0 && now - f.last_s > kLately)
        return 2;
    return f.cause == Cause::impaired || f.cause == Cause::cut_by_join ? 1 : 0;
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
    const bool whole = base_.streams.empty() && base_.sends.empty() && base_.ports.empty();
    std::vector<Finding> found = diagnose(whole ? now : since_changes(now, base_));
    for (Finding& f : found) {
        const Finding* const before = find_same(holding_, f);
        f.first_s = before == nullptr ? now.duration_s : before->first_s;
        // One that is explained in another way later has shrunk, and is not a loss of now.
        f.last_s = before != nullptr && before->count >= f.count ? before->last_s : now.duration_s;
    }
    holding_ = std::move(found);
}

void FindingLog::observe(Snapshot& now) {
    losses_.observe(now);
    find(now);
    now.findings = holding_;
    std::ranges::stable_sort(*now.findings, {}, [&](const Finding& f) { return rank_of(f, now.duration_s); });
    now.findings->insert(now.findings->end(), over_.begin(), over_.end());
}

void FindingLog::changed(Snapshot& now, const std::vector<std::string>& names) {
    losses_.settle(now);
    // A part that has gone has been looked at for the last time before.
    std::vector<Finding> before = holding_;
    find(now);
    for (Finding& f : before)
        if (find_same(holding_, f) == nullptr)
            holding_.push_back(std::move(f));
    for (auto f = holding_.begin(); f != holding_.end();) {
        if (std::find(names.begin(), names.end(), f->where) == names.end()) {
            ++f;
            continue;
        }
        f->until_s = now.duration_s;
        if (Finding* const earlier = find_same(over_, *f); earlier != nullptr) {
            f->count += earlier->count;
            f->first_s = earlier->first_s;
            *earlier = std::move(*f);
        } else if (f->cause != Cause::nothing_came) {
            over_.push_back(std::move(*f));
        }
        f = holding_.erase(f);
    }
    renew(base_.streams, now.streams, names);
    renew(base_.sends, now.sends, names);
    renew(base_.ports, now.ports, names);
    for (StreamSnapshot& s : base_.streams)
        if (std::find(names.begin(), names.end(), s.name) != names.end())
            s.changed_s = now.duration_s;
}

void FindingLog::clear(Snapshot& now) {
    losses_.settle(now);
    base_.streams = now.streams;
    base_.sends = now.sends;
    base_.ports = now.ports;
    for (StreamSnapshot& s : base_.streams)
        s.changed_s = now.duration_s;
    holding_.clear();
    over_.clear();
}

}  // namespace spead::stats
