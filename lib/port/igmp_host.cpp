// SPDX-License-Identifier: BSD-3-Clause
#include "port/igmp_host.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

namespace spead::port {

namespace {

constexpr unsigned kDefaultRobustness = 2;
constexpr std::chrono::seconds kDefaultQueryInterval{125};
/// Limits the sources of one group that queries asked for; if there are more, the whole group is reported.
constexpr std::size_t kMostAsked = 1024;

/// Means due at once: earlier than any step.
constexpr IgmpHost::Time kAtOnce = IgmpHost::Time::min();
constexpr IgmpHost::Time kNever = IgmpHost::Time::max();

std::vector<Ipv4> listed(const std::set<Ipv4>& sources) {
    return {sources.begin(), sources.end()};
}

}  // namespace

/// Builds frames: as many records per version 3 report as it holds.
class IgmpHost::Output {
  public:
    explicit Output(const wire::LinkAddress& own) : own_(own), report_(room(), own) {}

    bool full() const noexcept { return frames_.size() + 1 >= kFramesPerStep; }

    void record(wire::IgmpRecordType type, Ipv4 group, const std::vector<Ipv4>& sources) {
        std::span<const Ipv4> rest(sources);
        do {
            int taken = report_.add(type, group, rest);
            if (taken < 0) {
                flush();
                taken = report_.add(type, group, rest);
            }
            rest = rest.subspan(static_cast<std::size_t>(taken));
        } while (!rest.empty());
    }
    void message(wire::IgmpType type, Ipv4 group) {
        std::array<std::uint8_t, wire::kIgmpLeastRoom> bytes{};
        const std::size_t length = wire::build_igmp(bytes, own_, type, group);
        frames_.emplace_back(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    }
    void flush() {
        if (report_.records() == 0) {
            return;
        }
        const std::size_t length = report_.finish();
        frames_.emplace_back(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(length));
        report_ = wire::IgmpReport(room(), own_);
    }
    std::vector<Frame> take() {
        flush();
        return std::move(frames_);
    }

  private:
    /// Returns the room for the longest packet: a frame without a tag uses less of it.
    std::span<std::uint8_t> room() noexcept {
        return std::span(buffer_).first(buffer_.size() - (own_.vlan ? 0 : wire::kVlanTag));
    }

    const wire::LinkAddress& own_;
    std::array<std::uint8_t, wire::kEthernetHeader + wire::kVlanTag + kLongestPacket> buffer_{};
    wire::IgmpReport report_;
    std::vector<Frame> frames_;
};

IgmpHost::IgmpHost(const wire::LinkAddress& own, Random random) : own_(own), random_(std::move(random)) {}

std::size_t IgmpHost::joined() const noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(groups_, [](const auto& entry) { return !entry.second.filter.nothing(); }));
}

bool IgmpHost::idle() const {
    return pending_.empty() &&
           std::ranges::none_of(groups_, [](const auto& entry) { return entry.second.unreported(); });
}

void IgmpHost::want(const Endpoint& endpoint) {
    if (!endpoint.address.is_multicast() || endpoint.address.is_v6() ||
        endpoint.address == wire::kAllSystems) {
        return;
    }
    const Key key{endpoint.address.v4(), endpoint.source.v4()};
    if (++wanted_[key] == 1) {
        pending_.push_back(key);
        next_ = kAtOnce;
    }
}

void IgmpHost::leave(const Endpoint& endpoint) {
    const auto wanted = wanted_.find(Key{endpoint.address.v4(), endpoint.source.v4()});
    if (wanted == wanted_.end() || --wanted->second != 0) {
        return;
    }
    const Key key = wanted->first;
    wanted_.erase(wanted);
    if (const auto it = std::ranges::find(pending_, key); it != pending_.end()) {
        pending_.erase(it);
        return;
    }
    joined_.erase(key);
    update(key.group);
}

void IgmpHost::leave_all() {
    ending_ = true;
    general_due_ = kNever;
    wanted_.clear();
    pending_.clear();
    const std::set<Key> left = std::exchange(joined_, {});
    for (const Key& key : left) {
        update(key.group);
    }
    // Earlier changes are repeated at the same short interval.
    for (auto& [group, state] : groups_) {
        state.answer_due = kNever;
        if (state.unreported()) {
            state.change_due = kAtOnce;
        }
    }
    next_ = kAtOnce;
}

void IgmpHost::join_due(Time now) {
    // Credit for idle time is limited to a burst.
    next_join_ = std::max(next_join_, now - (kJoinBurst - 1) * Clock::duration{kJoinInterval});
    while (!pending_.empty() && next_join_ <= now) {
        const Key key = pending_.front();
        pending_.pop_front();
        joined_.insert(key);
        update(key.group);
        next_join_ += kJoinInterval;
    }
}

/// Updates the group's filter from the joins, and queues reports of the change.
void IgmpHost::update(Ipv4 group) {
    Filter filter;
    for (auto key = joined_.lower_bound(Key{group, {}}); key != joined_.end() && key->group == group; ++key) {
        if (key->source.value == 0) {
            filter.any = true;
            break;
        }
        filter.sources.insert(key->source);
    }
    Group& state = groups_[group];
    if (filter != state.filter) {
        const Filter before = std::exchange(state.filter, std::move(filter));
        report_from_now(state, before);
    }
    drop_if_done(group);
}

void IgmpHost::report_from_now(Group& state, const Filter& before) {
    next_ = kAtOnce;
    const Filter& after = state.filter;
    if (after.nothing()) {
        state.answer_due = kNever;
        state.asked.clear();
    }
    if (querier_.version != Version::v3) {
        if (after.nothing()) {
            state.old_reports = querier_.version == Version::v2 ? 1 : 0;
        } else if (before.nothing()) {
            state.old_reports = querier_.robustness;
        } else {
            return;
        }
        state.change_due = state.old_reports != 0 ? kAtOnce : kNever;
        return;
    }
    if (before.any != after.any) {
        state.mode_changes = querier_.robustness;
        state.source_changes.clear();
    } else {
        std::vector<Ipv4> changed;
        std::ranges::set_symmetric_difference(before.sources, after.sources, std::back_inserter(changed));
        for (const Ipv4 source : changed) {
            state.source_changes[source] = querier_.robustness;
        }
    }
    state.change_due = kAtOnce;
}

void IgmpHost::drop_if_done(Ipv4 group) {
    const auto found = groups_.find(group);
    if (found != groups_.end() && found->second.filter.nothing() && !found->second.unreported()) {
        groups_.erase(found);
    }
}

/// Chooses the version of the oldest present querier. When it changes, pending answers are dropped, and
/// pending reports are repeated in the new version.
void IgmpHost::choose_version(Time now) {
    const Version version = now < querier_.v1_until   ? Version::v1
                            : now < querier_.v2_until ? Version::v2
                                                      : Version::v3;
    if (version == querier_.version) {
        return;
    }
    querier_.version = version;
    general_due_ = kNever;
    for (auto it = groups_.begin(); it != groups_.end();) {
        const Ipv4 group = it->first;
        Group& state = it->second;
        ++it;
        state.answer_due = kNever;
        state.asked.clear();
        if (state.unreported()) {
            state.mode_changes = 0;
            state.source_changes.clear();
            state.old_reports = 0;
            state.change_due = kNever;
            Filter before;
            before.any = state.filter.nothing();
            report_from_now(state, before);
            drop_if_done(group);
        }
    }
}

void IgmpHost::receive(std::span<const std::uint8_t> frame, Time now) {
    wire::IgmpView view;
    const wire::IgmpRefusal refusal = wire::parse_igmp(frame, own_, view);
    if (refusal != wire::IgmpRefusal::none) {
        refused_ += refusal != wire::IgmpRefusal::not_igmp && refusal != wire::IgmpRefusal::unknown_type;
        return;
    }
    if (std::memcmp(frame.data() + own_.mac.size(), own_.mac.data(), own_.mac.size()) == 0) {
        return;
    }
    if (view.type == wire::IgmpType::query) {
        heard_query(view, now);
        return;
    }
    // In the old versions, one member's answer is enough (RFC 2236 3). Unsolicited reports are sent anyway.
    if ((view.type == wire::IgmpType::v1_report || view.type == wire::IgmpType::v2_report) &&
        querier_.version != Version::v3 && view.to == view.group) {
        if (const auto found = groups_.find(view.group); found != groups_.end()) {
            found->second.answer_due = kNever;
        }
    }
}

bool IgmpHost::is_for_us(const wire::IgmpView& query) const {
    return query.to == wire::kAllSystems || (own_.ip.value != 0 && query.to == own_.ip) ||
           (query.group.value != 0 && query.to == query.group);
}

void IgmpHost::heard_query(const wire::IgmpView& query, Time now) {
    if (!is_for_us(query)) {
        refused_++;
        return;
    }
    queries_++;
    if (query.version == 3) {
        querier_.robustness = std::max<unsigned>(query.robustness, kDefaultRobustness);
        querier_.interval = query.interval.count() != 0 ? query.interval : kDefaultQueryInterval;
    } else {
        querier_.robustness = kDefaultRobustness;
        querier_.interval = kDefaultQueryInterval;
        const Time until = now + querier_.robustness * querier_.interval + query.max_response;
        if (query.version == 1) {
            querier_.v1_until = until;
        } else if (query.group.value == 0) {
            querier_.v2_until = until;
        }
    }
    choose_version(now);
    next_ = kAtOnce;

    const bool general = query.group.value == 0;
    if (querier_.version == Version::v3) {
        const Time due = now + random_below(query.max_response);
        if (general_due_ <= due) {
            return;
        }
        if (general) {
            general_due_ = due;
        } else if (const auto found = groups_.find(query.group);
                   found != groups_.end() && !found->second.filter.nothing()) {
            answer_later(found->second, query, due);
        }
        return;
    }
    for (auto& [group, state] : groups_) {
        if (state.filter.nothing() || (!general && group != query.group)) {
            continue;
        }
        if (state.answer_due > now + query.max_response) {
            state.answer_due = now + random_below(query.max_response);
        }
    }
}

/// Schedules an answer by RFC 3376 5.2, rules 3 to 5.
void IgmpHost::answer_later(Group& state, const wire::IgmpView& query, Time due) {
    const bool about_all = state.answer_due != kNever && state.asked.empty();
    state.answer_due = std::min(state.answer_due, due);
    if (about_all || query.sources.empty() || state.asked.size() + query.sources.size() > kMostAsked) {
        state.asked.clear();
        return;
    }
    for (std::size_t i = 0; i < query.sources.size(); i++) {
        state.asked.insert(query.sources[i]);
    }
}

std::vector<Frame> IgmpHost::step(Time now) {
    choose_version(now);
    join_due(now);
    Output out(own_);
    send_changes(out, now);
    out.flush();
    if (general_due_ <= now) {
        general_due_ = kNever;
        for (auto& [group, state] : groups_) {
            if (!state.filter.nothing()) {
                state.answer_due = kAtOnce;
                state.asked.clear();
            }
        }
    }
    send_answers(out, now);
    std::vector<Frame> frames = out.take();
    look_ahead();
    return frames;
}

void IgmpHost::send_changes(Output& out, Time now) {
    for (auto it = groups_.begin(); it != groups_.end() && !out.full();) {
        const Ipv4 group = it->first;
        Group& state = it->second;
        ++it;
        if (state.change_due > now) {
            continue;
        }
        report(out, group, state);
        state.change_due = state.unreported() ? now + random_below(report_interval()) : kNever;
        drop_if_done(group);
    }
}

/// Builds one report of changes; counts it.
void IgmpHost::report(Output& out, Ipv4 group, Group& state) {
    if (querier_.version != Version::v3) {
        const auto type = state.filter.nothing()            ? wire::IgmpType::v2_leave
                          : querier_.version == Version::v1 ? wire::IgmpType::v1_report
                                                            : wire::IgmpType::v2_report;
        out.message(type, group);
        state.old_reports--;
        return;
    }
    if (state.mode_changes != 0) {
        out.record(state.filter.any ? wire::IgmpRecordType::to_exclude : wire::IgmpRecordType::to_include,
                   group, listed(state.filter.sources));
        state.mode_changes--;
    } else {
        std::vector<Ipv4> allowed;
        std::vector<Ipv4> blocked;
        for (const auto& [source, times] : state.source_changes) {
            (state.filter.sources.contains(source) ? allowed : blocked).push_back(source);
        }
        if (!allowed.empty()) {
            out.record(wire::IgmpRecordType::allow, group, allowed);
        }
        if (!blocked.empty()) {
            out.record(wire::IgmpRecordType::block, group, blocked);
        }
    }
    // A change of mode reports all sources, too.
    for (auto& [source, times] : state.source_changes) {
        times--;
    }
    std::erase_if(state.source_changes, [](const auto& change) { return change.second == 0; });
}

void IgmpHost::send_answers(Output& out, Time now) {
    for (auto& [group, state] : groups_) {
        if (out.full()) {
            return;
        }
        if (state.answer_due > now) {
            continue;
        }
        answer(out, group, state);
        state.answer_due = kNever;
        state.asked.clear();
    }
}

void IgmpHost::answer(Output& out, Ipv4 group, const Group& state) {
    if (querier_.version != Version::v3) {
        out.message(querier_.version == Version::v1 ? wire::IgmpType::v1_report : wire::IgmpType::v2_report,
                    group);
        return;
    }
    if (state.asked.empty()) {
        out.record(state.filter.any ? wire::IgmpRecordType::is_exclude : wire::IgmpRecordType::is_include,
                   group, listed(state.filter.sources));
        return;
    }
    std::vector<Ipv4> wanted;
    std::ranges::copy_if(state.asked, std::back_inserter(wanted), [&state](Ipv4 source) {
        return state.filter.any || state.filter.sources.contains(source);
    });
    if (!wanted.empty()) {
        out.record(wire::IgmpRecordType::is_include, group, wanted);
    }
}

void IgmpHost::look_ahead() {
    next_ = general_due_;
    if (!pending_.empty()) {
        next_ = std::min(next_, next_join_);
    }
    for (const auto& [group, state] : groups_) {
        next_ = std::min({next_, state.change_due, state.answer_due});
    }
}

/// Returns a time above 0, at most `limit`.
std::chrono::nanoseconds IgmpHost::random_below(std::chrono::nanoseconds limit) {
    const double part = (static_cast<double>(random_()) + 1) / 4294967296.0;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(part * static_cast<double>(limit.count())));
}

std::chrono::nanoseconds IgmpHost::report_interval() const {
    if (ending_) {
        return kLastReportInterval;
    }
    return querier_.version == Version::v3 ? kV3ReportInterval : kOldReportInterval;
}

}  // namespace spead::port
