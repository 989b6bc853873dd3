// SPDX-License-Identifier: BSD-3-Clause
// The control socket: any bytes as frames, in pieces of any size, and any line as a greeting.

#include <string>
#include <vector>

#include "app/prompt/control_socket.hpp"
#include "base/error.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/refusal.hpp"

namespace {

using namespace spead;
using app::Frame;
using app::Greeting;
using fuzz::Choices;
using fuzz::Input;
using fuzz::require;

struct Taken {
    std::vector<Frame> frames;
    bool refused = false;
};

/// Returns all frames of a stream that comes in pieces of `piece` bytes.
Taken take_all(std::string_view stream, std::size_t piece) {
    Taken taken;
    std::string buffer;
    try {
        while (!stream.empty()) {
            buffer += stream.substr(0, piece);
            stream.remove_prefix(std::min(piece, stream.size()));
            while (auto frame = Frame::take(buffer)) {
                taken.frames.push_back(std::move(*frame));
            }
        }
    } catch (const Error& error) {
        fuzz::require_sentence(error.what());
        taken.refused = true;
    }
    return taken;
}

bool same(const Frame& a, const Frame& b) {
    return a.kind == b.kind && a.text == b.text;
}

void check_frames(std::string_view stream, std::size_t piece) {
    const Taken whole = take_all(stream, stream.size());
    const Taken pieces = take_all(stream, piece);
    require(whole.frames.size() == pieces.frames.size() && whole.refused == pieces.refused,
            "pieces are of no importance");
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < whole.frames.size(); i++) {
        require(same(whole.frames[i], pieces.frames[i]), "pieces change no frame");
        bytes += whole.frames[i].text.size();
        std::string again = whole.frames[i].bytes();
        const auto frame = Frame::take(again);
        require(frame && same(*frame, whole.frames[i]) && again.empty(), "a frame survives being sent");
    }
    require(bytes <= stream.size(), "frames have what was sent, and no more");
}

void check_greeting(std::string_view line) {
    const auto greeting = Greeting::parse(line);
    if (!greeting || line.find('\n') != std::string_view::npos) {
        return;
    }
    std::string text = greeting->text();
    require(text.ends_with('\n'), "a greeting is a line");
    text.pop_back();
    const auto again = Greeting::parse(text);
    require(again && again->interactive == greeting->interactive && again->lone == greeting->lone &&
                again->directory == greeting->directory,
            "a greeting survives being sent");
}

}  // namespace

std::vector<Input> fuzz::seeds() {
    std::vector<Input> inputs;
    const auto add = [&inputs](std::uint8_t piece, const std::string& text) {
        Input input = {piece};
        input.insert(input.end(), text.begin(), text.end());
        inputs.push_back(input);
    };
    add(1, Frame{'o', "a table\nof text\n"}.bytes() + Frame{'s', "0"}.bytes());
    add(3, Frame{'e', "no stream is called s1\n"}.bytes() + Frame{'o', ""}.bytes() + Frame{'s', "2"}.bytes());
    add(7, "o 67108864\n");
    add(2, "o 99999999999999999999\nx");
    add(2, "o " + std::string(38, '0') + "\nx");
    for (const bool interactive : {false, true}) {
        std::string text = Greeting{interactive, "/a directory/with blanks", !interactive}.text();
        text.pop_back();
        add(0, text);
    }
    return inputs;
}

/// Reads the size of the pieces from the first byte.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Choices choices({data, size});
    const std::size_t piece = 1 + choices.below(64);
    const auto rest = choices.rest();
    const std::string stream(rest.begin(), rest.end());
    check_frames(stream, piece);
    check_greeting(stream);
    return 0;
}
