// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "port/igmp_host.hpp"

/// Runs an IgmpHost on a clock of its own, and records the frames that the network receives.
namespace spead::port::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Limits a run in which every timer ends.
inline constexpr milliseconds kLong{60'000};
inline constexpr wire::LinkAddress kOwn{{2, 0, 0, 0, 0, 1}, {0x0A090001}, {}};
inline constexpr wire::LinkAddress kQuerier{{2, 0, 0, 0, 0, 0x99}, {0x0A090063}, {}};

inline Ipv4 group(std::uint32_t n) {
    return {0xEF010000 + n};
}
inline Ipv4 source(std::uint32_t n) {
    return {0x0A000000 + n};
}
inline Endpoint from_any(std::uint32_t n) {
    return {group(n), 7148, {}};
}
inline Endpoint from(std::uint32_t n, std::uint32_t s) {
    return {group(n), 7148, source(s)};
}

/// Holds the routers' knowledge of one group.
struct Known {
    bool any = false;
    std::set<Ipv4> sources{};
    bool operator==(const Known&) const = default;
};

class Wire {
  public:
    explicit Wire(unsigned seed = 1) : random_(seed) {}

    IgmpHost::Time now() const { return now_; }

    /// Steps the host as often as it asks, until `d` has passed. Records the frames that it sends as text.
    void run(milliseconds d) {
        const auto end = now_ + d;
        for (;;) {
            frames(host.step(now_));
            const auto next = std::max(host.next(), now_ + milliseconds(1));
            if (next > end)
                break;
            now_ = next;
        }
        now_ = end;
    }
    /// Returns the messages that were sent since the last call.
    std::vector<std::string> said() { return std::exchange(said_, {}); }

    std::vector<std::uint8_t> query(const wire::IgmpQuery& q, const wire::LinkAddress& who = kQuerier) {
        std::vector<std::uint8_t> frame(2000);
        frame.resize(wire::build_igmp_query(frame, who, q));
        return frame;
    }
    void ask(const wire::IgmpQuery& q) { host.receive(query(q), now_); }

    IgmpHost host{kOwn, [this] { return static_cast<std::uint32_t>(random_()); }};
    std::vector<IgmpHost::Time> times;  ///< of all frames
    std::map<Ipv4, Known> known;        ///< by routers of version 3
    std::set<Ipv4> known_old;           ///< by routers of version 2
    std::size_t lose = 0;               ///< the next frames

  private:
    void frames(const std::vector<Frame>& sent) {
        for (const Frame& frame : sent) {
            times.push_back(now_);
            EXPECT_LE(frame.size(), wire::kEthernetHeader + IgmpHost::kLongestPacket);
            wire::IgmpView view;
            ASSERT_EQ(wire::parse_igmp(frame, kQuerier, view), wire::IgmpRefusal::none);
            EXPECT_EQ(view.from, kOwn.ip);
            if (lose != 0) {
                lose--;
                continue;
            }
            hear(view);
        }
    }
    void hear(const wire::IgmpView& view) {
        switch (view.type) {
            case wire::IgmpType::v1_report:
            case wire::IgmpType::v2_report:
                said_.push_back(fmt::format("v{} {}", view.version, to_string(view.group)));
                known_old.insert(view.group);
                EXPECT_EQ(view.to, view.group);
                return;
            case wire::IgmpType::v2_leave:
                said_.push_back("leave " + to_string(view.group));
                known_old.erase(view.group);
                EXPECT_EQ(view.to, wire::kAllRouters);
                return;
            default:
                break;
        }
        ASSERT_EQ(view.type, wire::IgmpType::v3_report);
        EXPECT_EQ(view.to, wire::kAllIgmpRouters);
        wire::IgmpRecordView record;
        for (auto rest = view.list; wire::IgmpView::next_record(rest, record);)
            hear(record);
    }
    void hear(const wire::IgmpRecordView& record) {
        static constexpr const char* kNames[] = {"?", "is_in", "is_ex", "to_in", "to_ex", "allow", "block"};
        std::vector<std::string> list;
        Known& k = known[record.group];
        using Type = wire::IgmpRecordType;
        if (record.type == Type::to_exclude || record.type == Type::is_exclude)
            k = {true, {}};
        if (record.type == Type::to_include)
            k = {};
        for (std::size_t i = 0; i < record.sources.size(); i++) {
            const Ipv4 s = record.sources[i];
            list.push_back(to_string(s));
            if (!k.any && record.type == Type::block)
                k.sources.erase(s);
            else if (!k.any)
                k.sources.insert(s);
        }
        said_.push_back(fmt::format("{} {} {{{}}}", kNames[static_cast<int>(record.type)],
                                    to_string(record.group), fmt::join(list, ",")));
    }

    std::mt19937 random_;
    IgmpHost::Time now_ = IgmpHost::Time(seconds(1000));
    std::vector<std::string> said_;
};

}  // namespace spead::port::test
