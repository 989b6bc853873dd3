// SPDX-License-Identifier: BSD-3-Clause
// Any text as a configuration file: it is refused with a place and a reason, or it is a plan that survives
// being printed and read again.

#include <string>

#include "base/error.hpp"
#include "config/config.hpp"
#include "tests/fuzz/captures.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/refusal.hpp"

namespace {

using namespace spead;
using fuzz::Input;
using fuzz::require;

constexpr const char* kName = "fuzz.toml";

void check(const runtime::Plan& plan) {
    try {
        config::validate(plan);
    } catch (const Error&) {
        require(false, "what the reader accepts is valid");
    }
    const std::string text = config::to_toml(plan);
    try {
        const runtime::Plan again = config::parse_text(text, kName);
        require(again == plan, "a plan survives being printed and read");
        require(config::to_toml(again) == text, "and is printed the same");
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n%s\n", error.what(), text.c_str());
        require(false, "what is printed can be read");
    }
}

}  // namespace

std::vector<Input> fuzz::seeds() {
    std::vector<Input> inputs;
    for (const char* const name :
         {"card-p1-digitisers", "card-p2-channels-small", "card-p3-channels-large", "card-p4-visibilities",
          "card-p5-beam", "loopback", "p1-digitisers", "p2-channels-small", "p3-channels-large",
          "p4-visibilities", "receive", "send"}) {
        const Input file = fuzz::source_file(std::string("config/") + name + ".toml");
        // Without the comments, which take most of it.
        Input text;
        for (auto line = file.begin(); line != file.end();) {
            const auto end = std::find(line, file.end(), '\n');
            if (line != end && *line != '#') {
                text.insert(text.end(), line, end);
                text.push_back('\n');
            }
            line = end == file.end() ? end : end + 1;
        }
        inputs.push_back(text);
        // With every key that there is.
        const std::string whole =
            config::to_toml(config::parse_text(std::string(text.begin(), text.end()), name));
        inputs.emplace_back(whole.begin(), whole.end());
    }
    return inputs;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(data, data + size);
    try {
        check(config::parse_text(text, kName));
    } catch (const UsageError& error) {
        require(error.where().starts_with(kName), "a refusal says where");
        fuzz::require_sentence(error.what());
    }
    return 0;
}
