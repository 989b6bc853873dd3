// SPDX-License-Identifier: BSD-3-Clause
#include "port/group_host.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "port/igmp_host.hpp"
#include "port/mld_host.hpp"

namespace spead::port {

namespace {

constexpr unsigned kDefaultRobustness = 2;
constexpr std::chrono::seconds kDefaultQueryInterval{125};
/// Limits the sources of one group that queries asked for; if there are more, the whole group is reported.
constexpr std::size_t kMostAsked = 1024;

/// Means due at once: earlier than any step.
constexpr std::chrono::steady_clock::time_point kAtOnce = std::chrono::steady_clock::time_point::min();
constexpr std::chrono::steady_clock::time_point kNever = std::chrono::steady_clock::time_point::max();

template <typename Address>
std::vector<Address> listed(const std::set<Address>& sources) {
    return {sources.begin(), sources.end()};
}

}  // namespace

/// Builds frames: as many records per report of the newest version as it holds.
template <typename Protocol>
class GroupHost<Protocol>::Output {
  public:
    explicit Output(const wire::LinkAddress& own) : own_(own), report_(room(), own) {}

    bool full() const noexcept { return frames_.size() + 1 >= kFramesPerStep; }

    void record(wire::IgmpRecordType type, Address group, const std::vector<Address>& sources) {
        std::span<const Address> rest(sources);
        do {
            int taken = report_.add(type, group, rest);
            if (taken < 0) {
                flush();
                taken = report_.add(type, group, rest);
            }
            rest = rest.subspan(static_cast<std::size_t>(taken));
        } while (!rest.empty());
    }
    /// Adds a report of an older version, or the message that leaves a group.
    void message(Version version, bool leave, Address group) {
        std::array<std::uint8_t, Protocol::kLeastRoom> bytes{};
        const std::size_t length = Protocol::build(bytes, own_, version, leave, group);
        frames_.emplace_back(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    }
    void flush() {
        if (report_.records() == 0) {
            return;
        }
        const std::size_t length = report_.finish();
        frames_.emplace_back(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(length));
        report_ = Report(room(), own_);
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
    Report report_;
    std::vector<Frame> frames_;
};

template <typename Protocol>
GroupHost<Protocol>::GroupHost(const wire::LinkAddress& own, Random random)
    : own_(own), random_(std::move(random)) {}

template <typename Protocol>
std::size_t GroupHost<Protocol>::joined() const noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(groups_, [](const auto& entry) { return !entry.second.filter.nothing(); }));
}

template <typename Protocol>
bool GroupHost<Protocol>::idle() const {
    return pending_.empty() &&
           std::ranges::none_of(groups_, [](const auto& entry) { return entry.second.unreported(); });
}

template <typename Protocol>
auto GroupHost<Protocol>::key_of(const Endpoint& endpoint) -> Key {
    return {Protocol::address_of(endpoint.address),
            endpoint.has_source() ? Protocol::address_of(endpoint.source) : Address{}};
}

template <typename Protocol>
void GroupHost<Protocol>::want(const Endpoint& endpoint) {
    if (!Protocol::reports(endpoint.address)) {
        return;
    }
    const Key key = key_of(endpoint);
    if (++wanted_[key] == 1) {
        pending_.push_back(key);
        next_ = kAtOnce;
    }
}

template <typename Protocol>
void GroupHost<Protocol>::leave(const Endpoint& endpoint) {
    if (!Protocol::reports(endpoint.address)) {
        return;
    }
    const auto wanted = wanted_.find(key_of(endpoint));
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

template <typename Protocol>
void GroupHost<Protocol>::leave_all() {
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

template <typename Protocol>
void GroupHost<Protocol>::join_due(Time now) {
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
template <typename Protocol>
void GroupHost<Protocol>::update(Address group) {
    Filter filter;
    for (auto key = joined_.lower_bound(Key{group, {}}); key != joined_.end() && key->group == group; ++key) {
        if (key->source == Address{}) {
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

template <typename Protocol>
void GroupHost<Protocol>::report_from_now(Group& state, const Filter& before) {
    next_ = kAtOnce;
    const Filter& after = state.filter;
    if (after.nothing()) {
        state.answer_due = kNever;
        state.asked.clear();
    }
    if (querier_.version != Protocol::kNewest) {
        if (after.nothing()) {
            state.old_reports = querier_.version >= Protocol::kFirstWithLeaves ? 1 : 0;
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
        std::vector<Address> changed;
        std::ranges::set_symmetric_difference(before.sources, after.sources, std::back_inserter(changed));
        for (const Address source : changed) {
            state.source_changes[source] = querier_.robustness;
        }
    }
    state.change_due = kAtOnce;
}

template <typename Protocol>
void GroupHost<Protocol>::drop_if_done(Address group) {
    const auto found = groups_.find(group);
    if (found != groups_.end() && found->second.filter.nothing() && !found->second.unreported()) {
        groups_.erase(found);
    }
}

/// Chooses the version of the oldest present querier. When it changes, pending answers are dropped, and
/// pending reports are repeated in the new version.
template <typename Protocol>
void GroupHost<Protocol>::choose_version(Time now) {
    const Version version = now < querier_.v1_until   ? Version::v1
                            : now < querier_.v2_until ? Version::v2
                                                      : Protocol::kNewest;
    if (version == querier_.version) {
        return;
    }
    querier_.version = version;
    general_due_ = kNever;
    for (auto it = groups_.begin(); it != groups_.end();) {
        const Address group = it->first;
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

template <typename Protocol>
void GroupHost<Protocol>::receive(std::span<const std::uint8_t> frame, Time now) {
    View view;
    const Heard heard = Protocol::parse(frame, own_, view);
    if (heard != Heard::message) {
        refused_ += heard == Heard::refused;
        return;
    }
    if (std::memcmp(frame.data() + own_.mac.size(), own_.mac.data(), own_.mac.size()) == 0) {
        return;
    }
    if (Protocol::is_query(view)) {
        heard_query(view, now);
        return;
    }
    // In the old versions, one member's answer is enough (RFC 2236 3, RFC 2710 4). Unsolicited reports are
    // sent anyway.
    if (Protocol::is_old_report(view) && querier_.version != Protocol::kNewest && view.to == view.group) {
        if (const auto found = groups_.find(view.group); found != groups_.end()) {
            found->second.answer_due = kNever;
        }
    }
}

template <typename Protocol>
bool GroupHost<Protocol>::is_for_us(const View& query) const {
    // Any address of ours will do, unicast or multicast (RFC 3376 4.1.12, RFC 3810 5.1.15).
    return query.to == Protocol::kEverybody || (query.to != Address{} && Protocol::is_own(own_, query.to)) ||
           groups_.contains(query.to) || (query.group != Address{} && query.to == query.group);
}

template <typename Protocol>
void GroupHost<Protocol>::heard_query(const View& query, Time now) {
    if (!is_for_us(query)) {
        refused_++;
        return;
    }
    queries_++;
    const bool general = query.group == Address{};
    if (Version{query.version} == Protocol::kNewest) {
        querier_.robustness = std::max<unsigned>(query.robustness, kDefaultRobustness);
        querier_.interval = query.interval.count() != 0 ? query.interval : kDefaultQueryInterval;
    } else {
        querier_.robustness = kDefaultRobustness;
        querier_.interval = kDefaultQueryInterval;
        const Time until = now + querier_.robustness * querier_.interval + query.max_response;
        if (query.version == 1) {
            querier_.v1_until = until;
        } else if (general) {
            querier_.v2_until = until;
        }
    }
    choose_version(now);
    next_ = kAtOnce;

    if (querier_.version == Protocol::kNewest) {
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

/// Schedules an answer by RFC 3376 5.2, rules 3 to 5, which are those of RFC 3810 6.2.
template <typename Protocol>
void GroupHost<Protocol>::answer_later(Group& state, const View& query, Time due) {
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

template <typename Protocol>
std::vector<Frame> GroupHost<Protocol>::step(Time now) {
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

template <typename Protocol>
void GroupHost<Protocol>::send_changes(Output& out, Time now) {
    for (auto it = groups_.begin(); it != groups_.end() && !out.full();) {
        const Address group = it->first;
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
template <typename Protocol>
void GroupHost<Protocol>::report(Output& out, Address group, Group& state) {
    if (querier_.version != Protocol::kNewest) {
        out.message(querier_.version, state.filter.nothing(), group);
        state.old_reports--;
        return;
    }
    if (state.mode_changes != 0) {
        out.record(state.filter.any ? wire::IgmpRecordType::to_exclude : wire::IgmpRecordType::to_include,
                   group, listed(state.filter.sources));
        state.mode_changes--;
    } else {
        std::vector<Address> allowed;
        std::vector<Address> blocked;
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

template <typename Protocol>
void GroupHost<Protocol>::send_answers(Output& out, Time now) {
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

template <typename Protocol>
void GroupHost<Protocol>::answer(Output& out, Address group, const Group& state) {
    if (querier_.version != Protocol::kNewest) {
        out.message(querier_.version, false, group);
        return;
    }
    if (state.asked.empty()) {
        out.record(state.filter.any ? wire::IgmpRecordType::is_exclude : wire::IgmpRecordType::is_include,
                   group, listed(state.filter.sources));
        return;
    }
    std::vector<Address> wanted;
    std::ranges::copy_if(state.asked, std::back_inserter(wanted), [&state](Address source) {
        return state.filter.any || state.filter.sources.contains(source);
    });
    if (!wanted.empty()) {
        out.record(wire::IgmpRecordType::is_include, group, wanted);
    }
}

template <typename Protocol>
void GroupHost<Protocol>::look_ahead() {
    next_ = general_due_;
    if (!pending_.empty()) {
        next_ = std::min(next_, next_join_);
    }
    for (const auto& [group, state] : groups_) {
        next_ = std::min({next_, state.change_due, state.answer_due});
    }
}

/// Returns a time above 0, at most `limit`.
template <typename Protocol>
std::chrono::nanoseconds GroupHost<Protocol>::random_below(std::chrono::nanoseconds limit) {
    const double part = (static_cast<double>(random_()) + 1) / 4294967296.0;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(part * static_cast<double>(limit.count())));
}

template <typename Protocol>
std::chrono::nanoseconds GroupHost<Protocol>::report_interval() const {
    if (ending_) {
        return kLastReportInterval;
    }
    return querier_.version == Protocol::kNewest ? kReportInterval : kOldReportInterval;
}

template class GroupHost<Igmp>;
template class GroupHost<Mld>;

}  // namespace spead::port
