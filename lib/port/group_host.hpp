// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/endpoint.hpp"
#include "wire/link.hpp"

namespace spead::port {

/// Holds a frame to be sent, complete from the destination MAC to the padding.
using Frame = std::vector<std::uint8_t>;

/// Lists the versions of IGMP. MLD has the first two: MLDv1 says what IGMPv2 says, MLDv2 what IGMPv3 does.
enum class GroupVersion : std::uint8_t { v1 = 1, v2 = 2, v3 = 3 };

/// Says how a received frame was read.
enum class Heard : std::uint8_t { message, other, refused };

/// Reports group membership on ports that the kernel does not see: an IGMPv3 host (RFC 3376 sections 5 and
/// 7.2), or an MLDv2 host (RFC 3810 sections 6 and 8.2), by its `Protocol` (port/igmp_host.hpp,
/// port/mld_host.hpp). It falls back to an older version while a querier of that version is present.
///
/// Joins and leaves are reported at once and repeated as the querier's robustness says. Queries are answered
/// after a random delay within their limit; pending answers are merged. Joins are paced like the kernel's
/// (port/membership.hpp). A group wanted from any source is reported so; one wanted from named sources only
/// is reported with all of those.
///
/// Pure: the caller passes time, random numbers and frames, and frames leave through step(); nothing waits.
/// Control code, one thread; frames are hostile, and their cost and memory are bounded by the joined groups.
template <typename Protocol>
class GroupHost {
  public:
    using Address = typename Protocol::Address;
    using View = typename Protocol::View;
    using Report = typename Protocol::Report;
    using Version = GroupVersion;
    using Clock = std::chrono::steady_clock;
    using Time = Clock::time_point;
    /// Returns numbers uniform in all 32 bits.
    using Random = std::function<std::uint32_t()>;

    static constexpr std::chrono::milliseconds kJoinInterval{1};  ///< between two joins, on average
    static constexpr int kJoinBurst = 16;  ///< joins that may follow each other at once
    static constexpr std::size_t kFramesPerStep = 16;
    /// Limits our IP packets to a length that every link carries.
    static constexpr std::size_t kLongestPacket = 576;
    static constexpr std::chrono::milliseconds kReportInterval{1000};      ///< RFC 3376 8.11, RFC 3810 9.11
    static constexpr std::chrono::milliseconds kOldReportInterval{10000};  ///< RFC 2236 8.10, RFC 2710 7.10
    /// Holds the interval between the reports of the end (leave_all): a program that ends cannot wait for
    /// seconds.
    static constexpr std::chrono::milliseconds kLastReportInterval{20};

    GroupHost(const wire::LinkAddress& own, Random random);

    /// Queues a join of the endpoint's group (from its source, if it names one); the port does not matter. A
    /// group wanted twice is joined once and must be left twice. Ignores groups that are never reported, and
    /// endpoints that are not of the protocol's IP version or not multicast.
    void want(const Endpoint& endpoint);
    /// Undoes one want(). When no want() for the group, or the source, is left, the next step() reports that.
    void leave(const Endpoint& endpoint);
    /// Leaves everything, with short intervals between the reports: call step() until idle().
    void leave_all();

    /// Handles a received frame. Only queries (and, in the old versions, reports) for us have an effect.
    void receive(std::span<const std::uint8_t> frame, Time now);

    /// Does the work that is due at `now`, which never decreases, and returns the frames to send. Begins no
    /// further group at kFramesPerStep frames: the rest is due at the next step.
    std::vector<Frame> step(Time now);
    /// Returns the time of the next step(); Time::max() when nothing is pending.
    Time next() const noexcept { return next_; }
    /// Returns whether all reports were sent (answers to queries do not count).
    bool idle() const;

    std::size_t pending() const noexcept { return pending_.size(); }  ///< joins
    std::size_t joined() const noexcept;                              ///< groups
    Version version() const noexcept { return querier_.version; }
    /// Returns the number of valid queries.
    std::uint64_t queries() const noexcept { return queries_; }
    /// Returns the number of queries that were malformed or came from elsewhere.
    std::uint64_t refused() const noexcept { return refused_; }

  private:
    struct Key {
        Address group;
        Address source;  ///< 0.0.0.0 or ::: any
        auto operator<=>(const Key&) const = default;
    };
    /// Holds the reported sources of a group: any, or these; with none the group is not wanted.
    struct Filter {
        bool any = false;
        std::set<Address> sources{};
        bool operator==(const Filter&) const = default;
        bool nothing() const { return !any && sources.empty(); }
    };
    struct Group {
        Filter filter;
        // State changes that are still to be reported (RFC 3376 5.1, RFC 3810 6.1).
        unsigned mode_changes = 0;  ///< reports of a change between "anybody" and "these" still to be sent
        std::map<Address, unsigned> source_changes{};  ///< the same of single sources
        unsigned old_reports = 0;                      ///< older versions: reports still to be sent
        Time change_due = Time::max();
        // The pending answer to a query (RFC 3376 5.2, RFC 3810 6.2).
        Time answer_due = Time::max();
        std::set<Address> asked{};  ///< empty: about the whole group
        bool unreported() const { return mode_changes != 0 || !source_changes.empty() || old_reports != 0; }
    };
    /// Holds what queries have told of the link's querier.
    struct Querier {
        Version version = Protocol::kNewest;
        unsigned robustness = 2;
        std::chrono::seconds interval{125};
        Time v1_until = Time::min();  ///< an older querier is present until then
        Time v2_until = Time::min();
    };
    class Output;

    static Key key_of(const Endpoint& endpoint);
    void join_due(Time now);
    void update(Address group);
    void report_from_now(Group& state, const Filter& before);
    void drop_if_done(Address group);
    void choose_version(Time now);
    void heard_query(const View& query, Time now);
    bool is_for_us(const View& query) const;
    void answer_later(Group& state, const View& query, Time due);
    void send_changes(Output& out, Time now);
    void send_answers(Output& out, Time now);
    void report(Output& out, Address group, Group& state);
    void answer(Output& out, Address group, const Group& state);
    void look_ahead();
    std::chrono::nanoseconds random_below(std::chrono::nanoseconds limit);
    std::chrono::nanoseconds report_interval() const;

    wire::LinkAddress own_;
    Random random_;
    std::map<Key, unsigned> wanted_;
    std::set<Key> joined_;  ///< those of wanted_ that the pace has let through
    std::deque<Key> pending_;
    std::map<Address, Group> groups_;
    Querier querier_;
    Time general_due_ = Time::max();  ///< answer to a general query
    Time next_join_{};
    Time next_ = Time::max();
    bool ending_ = false;
    std::uint64_t queries_ = 0;
    std::uint64_t refused_ = 0;
};

}  // namespace spead::port
