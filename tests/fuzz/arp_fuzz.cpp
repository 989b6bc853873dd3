// SPDX-License-Identifier: BSD-3-Clause
// An ARP host among hostile frames: hosts to be found, requests, answers, lies, frames of any bytes, and time
// that passes. Beside it runs a model of what it must know and send.

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "port/arp_host.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace spead;
using fuzz::Choices;
using fuzz::Input;
using fuzz::require;
using port::ArpHost;

constexpr std::array<Ipv4, 5> kHosts{
    {{0x0A090002}, {0x0A090003}, {0x0A090004}, {0x0A090005}, {0x0A090001}}};  // the last is our own
constexpr int kMostActions = 400;

enum class Action : std::uint8_t { resolve, announce, arp, frame, pass_time, step, flood, count };

class Play {
  public:
    Play(Choices& choices, const wire::LinkAddress& own) : choices_(choices), own_(own), host_(own) {}

    void run() {
        for (int i = 0; i < kMostActions && !choices_.empty(); i++) {
            act(static_cast<Action>(choices_.below(static_cast<std::size_t>(Action::count))));
            check_knowledge();
        }
        // Nobody answers any more.
        for (int i = 0; i < 40; i++) {
            now_ += std::chrono::seconds(1);
            step();
        }
        for (const auto& [host, neighbour] : neighbours_) {
            require(!host_.find(host), "a host that does not answer is forgotten");
            require(host_.tries(host) >= ArpHost::kFastTries, "and still asked for");
        }
    }

  private:
    struct Neighbour {
        std::optional<MacAddress> mac{};
        ArpHost::Time heard{};
        std::optional<ArpHost::Time> asked{};  ///< since it was heard
    };

    void act(Action action) {
        switch (action) {
            case Action::resolve: {
                const Ipv4 host = any_host();
                host_.resolve(host);
                neighbours_.try_emplace(host);
                break;
            }
            case Action::announce:
                host_.announce();
                announcements_ = own_.ip.value == 0 ? 0 : ArpHost::kAnnouncements;
                break;
            case Action::arp:
                receive(any_arp());
                break;
            case Action::frame: {
                const auto bytes = choices_.bytes(choices_.byte());
                receive({bytes.begin(), bytes.end()});
                break;
            }
            case Action::pass_time: {
                static constexpr std::array<std::chrono::milliseconds, 4> kUnits{
                    {std::chrono::milliseconds(1), std::chrono::milliseconds(100), std::chrono::seconds(1),
                     std::chrono::minutes(10)}};
                const auto unit = kUnits[choices_.below(kUnits.size())];
                now_ += unit * choices_.byte();
                break;
            }
            case Action::step:
                step();
                break;
            case Action::flood: {
                const Input request = any_arp();
                for (int i = 0; i < 100; i++) {
                    receive(request);
                }
                break;
            }
            case Action::count:
                break;
        }
    }

    Ipv4 any_host() { return kHosts[choices_.below(kHosts.size())]; }
    MacAddress any_mac() {
        return {static_cast<std::uint8_t>(choices_.byte() & 3), 0, 0, 0, 0, choices_.byte()};
    }
    Input any_arp() {
        wire::ArpPacket packet;
        packet.operation = choices_.flag() ? wire::ArpOperation::reply : wire::ArpOperation::request;
        packet.sender_mac = any_mac();
        packet.sender_ip = choices_.below(8) == 0 ? Ipv4{choices_.word32()} : any_host();
        packet.target_mac = own_.mac;
        packet.target_ip = choices_.flag() ? own_.ip : any_host();
        Input frame(wire::kLeastFrame);
        const wire::LinkAddress from{packet.sender_mac, packet.sender_ip, own_.vlan};
        frame.resize(wire::build_arp(frame, wire::kBroadcastMac, from, packet));
        return frame;
    }

    void receive(const Input& frame) {
        const fuzz::ExactCopy exact(frame);
        host_.receive({exact.data(), exact.size()}, now_);
        const auto packet = wire::parse_arp(frame, own_);
        if (!packet || packet->sender_mac == own_.mac) {
            return;
        }
        if (own_.ip.value != 0 && packet->sender_ip == own_.ip) {
            conflict_ = packet->sender_mac;
        }
        if (const auto found = neighbours_.find(packet->sender_ip); found != neighbours_.end()) {
            found->second = {packet->sender_mac, now_, std::nullopt};
        }
        if (packet->operation == wire::ArpOperation::request && own_.ip.value != 0 &&
            packet->target_ip == own_.ip) {
            if (answers_.size() < ArpHost::kAnswersPerStep) {
                answers_.push_back(*packet);
            } else {
                unanswered_++;
            }
        }
    }

    void step() {
        const std::vector<port::Frame> frames = host_.step(now_);
        require(host_.next() > now_, "what is due is done");
        std::size_t answered = 0;
        for (const port::Frame& frame : frames) {
            require(frame.size() == wire::kLeastFrame, "frames are short ones");
            const auto packet = wire::parse_arp(frame, {{}, {}, own_.vlan});
            require(packet && packet->sender_mac == own_.mac && packet->sender_ip == own_.ip,
                    "frames are well formed and say who we are");
            if (packet->operation == wire::ArpOperation::reply) {
                require(answered < answers_.size(), "there is an answer for a request only");
                const wire::ArpPacket& request = answers_[answered++];
                require(packet->target_mac == request.sender_mac && packet->target_ip == request.sender_ip,
                        "the answer goes to the one who asked");
            } else if (packet->target_ip == own_.ip && announcements_ > 0 && !neighbours_.contains(own_.ip)) {
                announcements_--;
            } else {
                check_request(*packet);
            }
        }
        require(answered == answers_.size(), "who asks is answered");
        answers_.clear();
    }
    void check_request(const wire::ArpPacket& packet) {
        const auto found = neighbours_.find(packet.target_ip);
        if (packet.target_ip == own_.ip) {
            return;  // an announcement, or another host looks for our own address
        }
        require(found != neighbours_.end(), "only those are asked for that somebody wants");
        Neighbour& neighbour = found->second;
        require(!neighbour.mac || now_ - neighbour.heard >= ArpHost::kRefresh,
                "fresh answers are not asked for");
        require(!neighbour.asked || now_ - *neighbour.asked >= ArpHost::kAskInterval,
                "nobody is asked too often");
        neighbour.asked = now_;
    }

    void check_knowledge() {
        for (const Ipv4 host : kHosts) {
            const auto found = neighbours_.find(host);
            const auto mac = host_.find(host);
            if (found == neighbours_.end()) {
                require(!mac && host_.tries(host) == 0, "nobody is remembered unasked");
                continue;
            }
            const Neighbour& neighbour = found->second;
            require(!mac || mac == neighbour.mac, "the last answer counts");
            require(!neighbour.mac || now_ - neighbour.heard > ArpHost::kRefresh || mac,
                    "a fresh answer is known");
        }
        require(host_.conflict() == conflict_, "who has our address is known");
        require(host_.unanswered() == unanswered_, "what is not answered is counted");
    }

    Choices& choices_;
    wire::LinkAddress own_;
    ArpHost host_;
    ArpHost::Time now_{std::chrono::seconds(1000)};
    std::map<Ipv4, Neighbour> neighbours_;
    std::vector<wire::ArpPacket> answers_;
    unsigned announcements_ = 0;
    std::optional<MacAddress> conflict_;
    std::uint64_t unanswered_ = 0;
};

}  // namespace

std::vector<Input> fuzz::seeds() {
    const auto a = [](Action action) { return static_cast<std::uint8_t>(action); };
    const std::uint8_t resolve = a(Action::resolve);
    const std::uint8_t arp = a(Action::arp);
    const std::uint8_t time = a(Action::pass_time);
    const std::uint8_t step = a(Action::step);
    std::vector<Input> inputs;
    for (std::uint8_t own = 0; own < 3; own++) {  // without an address, with one, with one on a VLAN
        inputs.push_back(
            {own, resolve, 0, step, time, 2, 1, step, arp, 1, 2, 7, 1, 0, 1, step, time, 2, 21, step});
        inputs.push_back({own, a(Action::announce), step, time, 2, 3, step, arp, 0, 2, 9, 1, 4, 1, step});
        inputs.push_back({own, resolve, 1, a(Action::flood), 0, 2, 9, 1, 1, 1, step, time, 3, 1, step});
        inputs.push_back({own,  resolve, 1,    a(Action::frame),
                          42,   0xFF,    0xFF, 0xFF,
                          0xFF, 0xFF,    0xFF, 2,
                          0,    0,       0,    0,
                          9,    8,       6,    0,
                          1,    8,       0,    6,
                          4,    0,       1,    2,
                          0,    0,       0,    0,
                          9,    0x0A,    9,    0,
                          3,    0,       0,    0,
                          0,    0,       0,    0x0A,
                          9,    0,       1,    step});
    }
    return inputs;
}

/// Reads the host's own address from the first byte, and one action after the other from the rest.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Choices choices({data, size});
    wire::LinkAddress own{{2, 0, 0, 0, 0, 1}, {0x0A090001}, {}};
    switch (choices.below(3)) {
        case 0:
            own.ip = {};
            break;
        case 1:
            break;
        default:
            own.vlan = std::uint16_t{5};
    }
    Play(choices, own).run();
    return 0;
}
