// SPDX-License-Identifier: BSD-3-Clause
// The packets of several streams go through the short cuts that the RX lcore takes (templates of its flows,
// shapes of the decoder). Each goes through the parsers alone, too. Both agree on every packet, with any
// packets before it.

#include <optional>
#include <vector>

#include "recv/flow_template.hpp"
#include "recv/spead_decoder.hpp"
#include "tests/fuzz/captures.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/unit/recv/datagram.hpp"

namespace {

using namespace spead;
using namespace spead::recv;
using fuzz::Choices;
using fuzz::Input;
using fuzz::require;
using test::Judged;

constexpr int kMostFrames = 32;
constexpr std::uint32_t kMaxPacket = 1200;

/// Classifies packets of four streams; two of them differ in the source only.
const Classifier& streams() {
    static const Classifier classifier = test::three_endpoints();
    return classifier;
}

/// Returns frames to begin with: all streams and flavours, with and without items, tags, options and padding.
const std::vector<Input>& usual_frames() {
    static const std::vector<Input> frames = [] {
        test::Random random(1);
        std::vector<Input> made;
        for (const std::uint32_t to : {0xEF010203U, 0xEF010204U, 0xEF010205U}) {
            for (const std::uint32_t from : {0x0A000007U, 0x0A000008U}) {
                made.push_back(
                    test::MadeHeap{.length = 600, .packet = 200}.frames({.to = to, .from = from})[1]);
                made.push_back(
                    test::MadeHeap{.length = 200, .items = {0x8000000000001000, 0x0000001001000020}}.frames(
                        {.to = to, .from = from})[0]);
            }
        }
        for (int i = 0; i < 40; i++) {
            test::Way way;
            if (i % 8 == 0) {
                way.tags = {wire::kEtherTypeVlan};
            }
            way.ihl = i % 8 == 1 ? 6 : 5;
            way.padding = i % 8 == 2 ? 6 : 0;
            made.push_back(test::frame(test::any_packet(random).build(), way));
        }
        return made;
    }();
    return frames;
}

/// Keeps the state that an RX lcore has of its streams between packets.
class Lcore {
  public:
    /// Judges a frame as recv/rx_agent.cpp does it.
    std::optional<Judged> take(const std::uint8_t* frame, std::size_t length, bool verify) {
        if (length < wire::kNetHeader) {
            return general(frame, length, verify);
        }
        const FlowTemplate* flow = &flows_.usual(frame);
        heap::PacketView view;
        if (!flow->match(frame, length, verify, view)) {
            flow = &flows_.other(frame);
            if (!flow->match(frame, length, verify, view)) {
                return general(frame, length, verify);
            }
            flows_.turn(frame);
        }
        Judged j;
        j.lane = flow->lane();
        j.endpoint = flow->endpoint();
        j.payload_at = flow->payload_at();
        j.view = view;
        j.view.item_extent = flow->item_extent(frame);
        j.items.assign(view.items, view.items + std::size_t{view.item_count} * wire::kItemPointer);
        return j;
    }

  private:
    std::optional<Judged> general(const std::uint8_t* frame, std::size_t length, bool verify) {
        wire::UdpView udp;
        if (wire::parse_udp(frame, length, length, verify, udp) != PortOutcome::stream) {
            return std::nullopt;
        }
        const Target* const target = streams().find(udp.dst_ip, udp.dst_port, udp.src_ip);
        if (target == nullptr || udp.payload_length > kMaxPacket) {
            return std::nullopt;
        }
        const std::uint8_t* const datagram = frame + udp.payload_offset;
        Judged j;
        std::uint32_t payload_at = 0;
        SpeadDecoder& decoder = decoders_.at(target->lane);
        if (!decoder.decode(datagram, udp.payload_length, udp.payload_length, j.view, payload_at)) {
            return std::nullopt;
        }
        if (udp.payload_offset == wire::kNetHeader) {
            SpeadDecoder::learn(flows_.turn(frame), frame, udp, *target, kMaxPacket);
        }
        j.lane = target->lane;
        j.endpoint = target->endpoint;
        j.payload_at = udp.payload_offset + payload_at;
        j.items.assign(j.view.items, j.view.items + std::size_t{j.view.item_count} * wire::kItemPointer);
        return j;
    }

    FlowCache flows_{4};
    std::array<SpeadDecoder, 4> decoders_;
};

/// Returns one of the frames, or one of the input's own, with some of its bytes changed.
Input any_frame(Choices& choices) {
    const std::size_t which = choices.byte();
    Input frame;
    if (which < usual_frames().size()) {
        frame = usual_frames()[which];
    } else {
        const auto bytes = choices.bytes(which);
        frame.assign(bytes.begin(), bytes.end());
    }
    const std::uint8_t what = choices.byte();
    for (unsigned changes = what & 3U; changes > 0 && !frame.empty(); changes--) {
        const std::size_t at = choices.byte() % frame.size();
        frame[at] = choices.byte();
    }
    if ((what & 4U) != 0) {
        frame.resize(frame.size() - std::min<std::size_t>(frame.size(), choices.byte()));
    }
    if ((what & 8U) == 0 && frame.size() > wire::kNetHeader) {
        test::sum(frame);
    }
    return frame;
}

}  // namespace

std::vector<Input> fuzz::seeds() {
    std::vector<Input> inputs;
    Input train = {0};
    for (std::uint8_t i = 0; i < 12; i++) {
        train.insert(train.end(), {i, 0, i, 0});
        inputs.push_back({1, i, 0, i, 1, 20, 5, i, 1, 60, 7, i, 2, 44, 1, 90, 3});
        inputs.push_back({0, i, 0, static_cast<std::uint8_t>(i ^ 1U), 0, i, 4, 9, i, 9, 30, 1});
    }
    inputs.push_back(train);
    for (std::uint8_t i = 12; i < usual_frames().size(); i++) {
        inputs.push_back({1, i, 0, i, 1, 50, 9, i, 0});
    }
    return inputs;
}

/// Reads from the first byte whether checksums are verified, and from the others the packets.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Choices choices({data, size});
    const bool verify = choices.flag();
    Lcore lcore;
    for (int i = 0; i < kMostFrames && !choices.empty(); i++) {
        const Input frame = any_frame(choices);
        const fuzz::ExactCopy exact(frame);
        const auto judged = test::judge(exact.data(), exact.size(), verify, streams(), kMaxPacket);
        const auto taken = lcore.take(exact.data(), exact.size(), verify);
        require(taken.has_value() == judged.has_value(), "short cuts and parsers take the same packets");
        require(!taken || *taken == *judged, "and see the same in them");
    }
    return 0;
}
