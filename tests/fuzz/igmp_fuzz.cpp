// SPDX-License-Identifier: BSD-3-Clause
// An IGMP host among hostile frames: joins, leaves, queries of all versions, frames of any bytes, and time
// that passes. What it says is always true, and in the end the router knows exactly what is wanted.

#include <array>
#include <map>
#include <set>
#include <vector>

#include "port/igmp_host.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace spead;
using fuzz::Choices;
using fuzz::Input;
using fuzz::require;
using port::IgmpHost;

constexpr wire::LinkAddress kOwn{{2, 0, 0, 0, 0, 1}, {0x0A090001}, {}};
constexpr wire::LinkAddress kOther{{2, 0, 0, 0, 0, 0x99}, {0x0A090063}, {}};
constexpr std::array<Ipv4, 6> kGroups{{{0xEF010001},
                                       {0xEF010002},
                                       {0xEF010003},
                                       {0xE8000001},
                                       {0xE0000001},
                                       {0x0A000001}}};  // the last two are never reported
constexpr std::size_t kReported = 4;
constexpr std::array<Ipv4, 5> kSources{{{0}, {0x0A000001}, {0x0A000002}, {0x0A000003}, {0x0A000004}}};
constexpr int kMostActions = 400;
/// Limits the sources that one answer may name: those that queries asked for, and those that are wanted.
constexpr std::size_t kMostNamed = 1024 + kSources.size();
/// Bounds the frames of an answer's sources, beyond the first.
constexpr std::size_t kFramesOfSources = 9;

enum class Action : std::uint8_t {
    want,
    leave,
    query,
    message,
    frame,
    pass_time,
    step,
    report,
    flood,
    count
};

class Play {
  public:
    explicit Play(Choices& choices) : choices_(choices) {}

    void run() {
        for (int i = 0; i < kMostActions && !choices_.empty(); i++) {
            act(static_cast<Action>(choices_.below(static_cast<std::size_t>(Action::count))));
        }
        settle();
        require(asked_for() == wanted_filters(), "the router knows what is wanted, and nothing else");
        host_.leave_all();
        wanted_.clear();
        settle();
        require(host_.joined() == 0 && asked_for().empty(), "after the end nothing is wanted");
    }

  private:
    /// Holds a router's state of a group.
    struct Filter {
        bool any = false;
        std::set<Ipv4> sources{};
        bool operator==(const Filter&) const = default;
    };

    void act(Action action) {
        switch (action) {
            case Action::want: {
                const Endpoint endpoint = any_endpoint();
                host_.want(endpoint);
                wanted_[{endpoint.address.v4(), endpoint.source.v4()}]++;
                break;
            }
            case Action::leave: {
                const Endpoint endpoint = any_endpoint();
                host_.leave(endpoint);
                if (const auto found = wanted_.find({endpoint.address.v4(), endpoint.source.v4()});
                    found != wanted_.end() && --found->second == 0) {
                    wanted_.erase(found);
                }
                break;
            }
            case Action::query:
                receive(any_query(choices_.below(8)));
                break;
            case Action::message:
                receive(wrapped(choices_.bytes(choices_.byte())));
                break;
            case Action::frame: {
                const auto bytes = choices_.bytes(choices_.byte());
                receive({bytes.begin(), bytes.end()});
                break;
            }
            case Action::pass_time: {
                static constexpr std::array<std::chrono::milliseconds, 5> kUnits{
                    {std::chrono::milliseconds(1), std::chrono::milliseconds(50), std::chrono::seconds(1),
                     std::chrono::seconds(60), std::chrono::hours(1)}};
                const auto unit = kUnits[choices_.below(kUnits.size())];
                now_ += unit * choices_.byte();
                break;
            }
            case Action::step:
                step();
                break;
            case Action::report: {
                Input bytes(wire::kIgmpLeastRoom);
                bytes.resize(wire::build_igmp(
                    bytes, kOther, choices_.flag() ? wire::IgmpType::v1_report : wire::IgmpType::v2_report,
                    any_group()));
                receive(bytes);
                break;
            }
            case Action::flood: {  // queries for more sources than are remembered
                const Ipv4 group = any_group();
                const std::uint32_t first = choices_.word32();
                for (std::uint32_t i = 0; i < 12; i++) {
                    std::vector<Ipv4> sources;
                    for (std::uint32_t k = 0; k < 100; k++) {
                        sources.push_back({first + 100 * i + k});
                    }
                    receive(query({.version = 3, .group = group, .max_response = 100, .sources = sources}));
                }
                break;
            }
            case Action::count:
                break;
        }
    }

    Ipv4 any_group() { return kGroups[choices_.below(kGroups.size())]; }
    Endpoint any_endpoint() {
        const Ipv4 group = any_group();
        return {group, 7148, kSources[choices_.below(kSources.size())]};
    }

    static Input query(const wire::IgmpQuery& query) {
        Input bytes(1500);
        bytes.resize(wire::build_igmp_query(bytes, kOther, query));
        return bytes;
    }
    Input any_query(std::size_t sources_count) {
        std::vector<Ipv4> sources;
        for (std::size_t i = 0; i < sources_count; i++) {
            sources.push_back(kSources[1 + i % (kSources.size() - 1)]);
        }
        wire::IgmpQuery q;
        q.version = static_cast<std::uint8_t>(1 + choices_.below(3));
        q.group = choices_.flag() ? Ipv4{} : any_group();
        q.max_response = choices_.byte();
        if (q.group.value != 0) {
            q.sources = sources;
        }
        q.robustness = choices_.byte() & 7;
        q.interval = choices_.byte();
        return query(q);
    }
    /// Returns these bytes as an IGMP message with all that makes it acceptable: addresses, alert, checksums.
    static Input wrapped(std::span<const std::uint8_t> message) {
        Input frame(wire::kIgmpLeastRoom);
        frame.resize(wire::build_igmp(frame, kOther, wire::IgmpType::v2_report, wire::kAllSystems));
        constexpr std::size_t kIp = wire::kEthernetHeader;
        constexpr std::size_t kMessage = kIp + wire::kIgmpIpv4Header;
        frame.resize(kMessage);
        frame.insert(frame.end(), message.begin(), message.end());
        frame.resize(std::max(frame.size(), kMessage + wire::kIgmpMessage));
        store_be16(&frame[kMessage + 2], 0);
        store_be16(&frame[kMessage + 2], wire::ipv4_checksum(&frame[kMessage], frame.size() - kMessage));
        store_be16(&frame[kIp + 2], static_cast<std::uint16_t>(frame.size() - kIp));
        store_be16(&frame[kIp + 10], 0);
        store_be16(&frame[kIp + 10], wire::ipv4_checksum(&frame[kIp], wire::kIgmpIpv4Header));
        return frame;
    }

    void receive(const Input& frame) {
        const fuzz::ExactCopy exact(frame);
        const std::uint64_t heard = host_.queries() + host_.refused();
        host_.receive({exact.data(), exact.size()}, now_);
        require(host_.queries() + host_.refused() <= heard + 1, "a frame is one frame");
    }

    std::vector<port::Frame> step() {
        std::vector<port::Frame> frames = host_.step(now_);
        require(frames.size() <= IgmpHost::kFramesPerStep + kFramesOfSources, "a step sends a few frames");
        require(frames.size() + 1 >= IgmpHost::kFramesPerStep || host_.next() > now_,
                "what is due is done, or the step was full");
        for (const port::Frame& frame : frames) {
            check(frame);
        }
        return frames;
    }

    void check(const port::Frame& frame) const {
        require(frame.size() >= wire::kLeastFrame &&
                    frame.size() <= wire::kEthernetHeader + IgmpHost::kLongestPacket,
                "every link carries the frame");
        wire::IgmpView view;
        require(wire::parse_igmp(frame, kOther, view) == wire::IgmpRefusal::none, "frames are well formed");
        require(view.from == kOwn.ip && view.type != wire::IgmpType::query,
                "we say who we are, and ask nothing");
        if (view.type == wire::IgmpType::v3_report) {
            require(view.to == wire::kAllIgmpRouters && view.records > 0, "reports go to the routers");
            wire::IgmpRecordView record;
            for (auto rest = view.list; wire::IgmpView::next_record(rest, record);) {
                check(record);
            }
            return;
        }
        require(may_be_reported(view.group), "only groups are reported");
        require(view.type == wire::IgmpType::v2_leave ? view.to == wire::kAllRouters : view.to == view.group,
                "old reports go to their groups, leaves to the routers");
        require(view.type == wire::IgmpType::v2_leave || wants(view.group), "a report is of what is wanted");
    }
    void check(const wire::IgmpRecordView& record) const {
        using Type = wire::IgmpRecordType;
        require(may_be_reported(record.group), "only groups are reported");
        require(record.sources.size() <= kMostNamed, "what is remembered of queries is bounded");
        require((record.type != Type::is_exclude && record.type != Type::to_exclude) ||
                    wanted_.contains({record.group, {}}),
                "from anybody only what is wanted from anybody");
        for (std::size_t i = 0; i < record.sources.size(); i++) {
            require(record.type == Type::block || wanted_.contains({record.group, {}}) ||
                        wanted_.contains({record.group, record.sources[i]}),
                    "from a source only what is wanted from it");
        }
    }
    static bool may_be_reported(Ipv4 group) {
        return std::find(kGroups.begin(), kGroups.begin() + kReported, group) != kGroups.begin() + kReported;
    }
    bool wants(Ipv4 group) const {
        const auto first = wanted_.lower_bound({group, {}});
        return first != wanted_.end() && first->first.first == group;
    }

    /// Steps until no message is due any more, and queriers of old versions are forgotten.
    void settle() {
        for (int round = 0; round < 2; round++) {
            int steps = 0;
            do {
                step();
                require(++steps < 10'000, "the host comes to rest");
                now_ = std::max(now_, std::min(host_.next(), now_ + std::chrono::hours(1)));
            } while (host_.next() != IgmpHost::Time::max());
            require(host_.idle() && host_.pending() == 0, "nothing is pending when nothing is due");
            now_ += std::chrono::hours(24);
        }
        step();
        require(host_.version() == IgmpHost::Version::v3, "old queriers are forgotten");
    }

    /// Returns the state that a router learns from a general query.
    std::map<Ipv4, Filter> asked_for() {
        receive(query({.version = 3, .max_response = 1}));
        now_ += std::chrono::seconds(1);
        std::map<Ipv4, Filter> learned;
        for (int steps = 0; steps < 100; steps++) {
            for (const port::Frame& frame : step()) {
                wire::IgmpView view;
                require(wire::parse_igmp(frame, kOther, view) == wire::IgmpRefusal::none, "an answer");
                wire::IgmpRecordView record;
                for (auto rest = view.list; wire::IgmpView::next_record(rest, record);) {
                    Filter& filter = learned[record.group];
                    filter.any |= record.type == wire::IgmpRecordType::is_exclude;
                    for (std::size_t i = 0; i < record.sources.size(); i++) {
                        filter.sources.insert(record.sources[i]);
                    }
                }
            }
        }
        return learned;
    }
    std::map<Ipv4, Filter> wanted_filters() const {
        std::map<Ipv4, Filter> filters;
        for (const auto& [key, times] : wanted_) {
            if (!may_be_reported(key.first)) {
                continue;
            }
            Filter& filter = filters[key.first];
            if (key.second.value == 0) {
                filter.any = true;
            } else if (!filter.any) {  // anybody comes first in the order of keys
                filter.sources.insert(key.second);
            }
        }
        return filters;
    }

    Choices& choices_;
    std::uint32_t random_ = 1;
    IgmpHost host_{kOwn, [this] { return random_ = random_ * 1664525 + 1013904223; }};
    IgmpHost::Time now_{std::chrono::seconds(1000)};
    std::map<std::pair<Ipv4, Ipv4>, unsigned> wanted_;
};

}  // namespace

std::vector<Input> fuzz::seeds() {
    const auto a = [](Action action) { return static_cast<std::uint8_t>(action); };
    const std::uint8_t want = a(Action::want);
    const std::uint8_t leave = a(Action::leave);
    const std::uint8_t ask = a(Action::query);
    const std::uint8_t time = a(Action::pass_time);
    const std::uint8_t step = a(Action::step);
    return {
        {want, 0, 0, step, want, 1, 2, step, time, 2, 9, step, leave, 0, 0, step, time, 2, 9, step},
        // A general query of each version, then one of a group, then one of sources.
        {want, 0, 0, want, 1, 1, step, ask, 0, 2, 1, 100, 2, 125, time, 2, 20, step, time, 3, 10, step},
        {want, 0, 0, want, 1, 1, step, ask, 0, 0, 1, 100, 2, 125, time, 2, 20, step, leave, 0, 0, step},
        {want, 0, 0, want, 1, 1, step, ask, 0, 1, 1, 100, 2, 125, time, 2, 20, step, leave, 0, 0, step},
        {want, 0, 0, step, ask, 0, 2, 0, 0, 50, 2, 125, time, 2, 20, step},
        {want, 0, 1, want, 0, 2, step, ask, 3, 2, 0, 0, 50, 2, 125, time, 2, 20, step},
        {want, 0, 0, step, a(Action::flood), 0, 10, 0, 0, 1, time, 2, 30, step},
        {want, 0, 0, step, ask, 0, 1, 1, 200, 2, 125, a(Action::report), 0, 0, time, 2, 30, step},
        {want, 2, 0, a(Action::message), 12, 0x11, 100, 0, 0, 0xEF, 1, 0, 3, 2, 125, 0, 0, time, 2, 30, step},
    };
}

/// Reads one action after the other from the bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Choices choices({data, size});
    Play(choices).run();
    return 0;
}
