// SPDX-License-Identifier: BSD-3-Clause
// A plan that is edited as at the prompt, with words that fit and words that do not: what is accepted is a
// valid plan that survives being printed and read; what is refused changes nothing and says why.

#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/config.hpp"
#include "config/edit.hpp"
#include "config/keys.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/refusal.hpp"

namespace {

using namespace spead;
using fuzz::Choices;
using fuzz::Input;
using fuzz::require;
using runtime::Plan;

constexpr int kMostEdits = 24;
constexpr std::size_t kMostStreams = 6;
constexpr std::array<const char*, 4> kNames{"s0", "s1", "d0", "x-2.y"};
constexpr std::array<const char*, 8> kEndpoints{
    "239.1.2.0+3:7148", "239.1.2.3:7148",      "239.1.2.2+7:7148", "239.1.2.5:7148@10.0.0.7",
    "10.0.0.5:7148",    "239.20.0.0+255:7148", "239.1.2.3:7149",   "239.255.255.250+9:1"};
constexpr std::array<const char*, 16> kValues{
    "0",       "1",     "-1",   "4KiB", "16MiB", "100ms", "off",
    "true",    "false", "busy", "auto", "1Gbps", "1-3",   "18446744073709551615",
    "default", "\"a\""};

enum class Edit : std::uint8_t {
    add_stream,
    set_stream,
    delete_stream,
    add_endpoints,
    delete_endpoints,
    add_send,
    set_send,
    delete_send,
    count
};

/// Returns the plan that everything begins with, and that edits can go back to.
const Plan& first_plan() {
    static const Plan plan = config::parse_text(R"(version = 1
runtime.live = true
[[port]]
name = "p0"
device = "net_null0"
[[port]]
name = "p1"
device = "net_ring0"
mtu = 9000
[[receive]]
name = "s0"
port = "p0"
endpoints = ["239.1.0.0+3:7148"]
[[send]]
name = "d0"
port = "p1"
endpoints = ["239.4.0.0:7148"]
)",
                                                "fuzz");
    return plan;
}

class Editing {
  public:
    explicit Editing(Choices& choices) : choices_(choices) {}

    void run() {
        for (int i = 0; i < kMostEdits && !choices_.empty(); i++) {
            const Plan before = plan_;
            try {
                Plan after = edit(static_cast<Edit>(choices_.below(static_cast<std::size_t>(Edit::count))));
                require(plan_ == before, "the plan given is never touched");
                check(after);
                if (after.receives.size() + after.sends.size() <= kMostStreams) {
                    plan_ = std::move(after);
                }
            } catch (const Error& error) {
                fuzz::require_sentence(error.what());
                require(plan_ == before, "a refusal changes nothing");
            }
        }
    }

  private:
    std::string word(std::span<const char* const> usual) {
        const std::size_t which = choices_.byte();
        return which < 32 ? choices_.text(which) : usual[which % usual.size()];
    }
    std::string name() { return word(kNames); }
    std::string endpoints() { return word(kEndpoints); }
    std::string port() {
        static constexpr std::array<const char*, 3> kPorts{"p0", "p1", "p2"};
        return word(kPorts);
    }
    std::vector<config::Setting> settings(std::string_view root) {
        const std::vector<std::string> keys = config::key_paths(root);
        std::vector<config::Setting> made;
        for (std::size_t n = choices_.below(4); n > 0; n--) {
            const std::size_t which = choices_.byte();
            std::string key = which < 16 ? choices_.text(which) : keys[which % keys.size()];
            const config::Key* known = config::find_key(root, key);
            const std::span<const std::string_view> fitting =
                known == nullptr ? std::span<const std::string_view>() : config::choices(*known);
            std::string value = word(kValues);
            if (!fitting.empty() && choices_.flag()) {
                value = fitting[choices_.below(fitting.size())];
            }
            made.emplace_back(std::move(key), std::move(value));
        }
        return made;
    }

    Plan edit(Edit what) {
        switch (what) {
            case Edit::add_stream: {
                const std::string added = name();
                const std::string on = port();
                const std::string at = endpoints();
                Plan after = config::add_stream(plan_, added, on, at, settings("receive"));
                require(config::delete_stream(after, added) == plan_, "what is added can be deleted again");
                return after;
            }
            case Edit::set_stream: {
                const std::string of = name();
                return config::set_stream(plan_, of, settings("receive"));
            }
            case Edit::delete_stream:
                return config::delete_stream(plan_, name());
            case Edit::add_endpoints: {
                const std::string to = name();
                const std::string added = endpoints();
                Plan after = config::add_endpoints(plan_, to, added);
                require(
                    endpoints_of(config::delete_endpoints(after, to, added), to) == endpoints_of(plan_, to),
                    "endpoints that are added can be deleted again");
                return after;
            }
            case Edit::delete_endpoints: {
                const std::string from = name();
                return config::delete_endpoints(plan_, from, endpoints());
            }
            case Edit::add_send: {
                const std::string added = name();
                const std::string on = port();
                const std::string at = endpoints();
                Plan after = config::add_send(plan_, added, on, at, settings("send"));
                require(config::delete_send(after, added) == plan_, "what is added can be deleted again");
                return after;
            }
            case Edit::set_send: {
                const std::string of = name();
                return config::set_send(plan_, of, settings("send"));
            }
            case Edit::delete_send:
            case Edit::count:
                break;
        }
        return config::delete_send(plan_, name());
    }

    static std::vector<Endpoint> endpoints_of(const Plan& plan, const std::string& stream) {
        for (const runtime::ReceivePlan& r : plan.receives) {
            if (r.name == stream) {
                return r.endpoints;
            }
        }
        return {};
    }

    static void check(const Plan& plan) {
        try {
            config::validate(plan);
            require(config::parse_text(config::to_toml(plan), "fuzz") == plan,
                    "an edited plan survives being printed and read");
        } catch (const Error& error) {
            std::fprintf(stderr, "%s\n", error.what());
            require(false, "what an edit returns is valid");
        }
        for (const runtime::ReceivePlan& r : plan.receives) {
            std::vector<Endpoint> expanded;
            for (const std::string& range : config::endpoint_ranges(r.endpoints)) {
                for (const Endpoint& endpoint : parse_endpoints(range)) {
                    expanded.push_back(endpoint);
                }
            }
            require(expanded == r.endpoints, "ranges say exactly which endpoints, in their order");
        }
    }

    Choices& choices_;
    Plan plan_ = first_plan();
};

}  // namespace

std::vector<Input> fuzz::seeds() {
    const auto e = [](Edit edit) { return static_cast<std::uint8_t>(edit); };
    // 32 and more pick a usual word, less so many bytes that are one.
    std::vector<Input> inputs = {
        {e(Edit::add_stream), 33, 33, 32, 0, e(Edit::set_stream), 33, 1, 40, 33, e(Edit::delete_stream), 33},
        {e(Edit::add_endpoints), 32, 32, e(Edit::delete_endpoints), 32, 33, e(Edit::add_endpoints), 32, 34},
        {e(Edit::add_send), 33, 34, 32, 2, 40, 35, 41, 36, e(Edit::set_send), 34, 1, 33, 37,
         e(Edit::delete_send), 34},
        {e(Edit::add_stream), 2, 'a', 'b', 33, 9, '2', '3', '9', '.', '1', '.', '2', '.', '3', 0},
    };
    for (std::uint8_t key = 32; key < 96; key++) {
        for (const std::uint8_t value : {std::uint8_t{33}, std::uint8_t{35}, std::uint8_t{37}}) {
            inputs.push_back({e(Edit::set_stream), 32, 1, key, value, 1, 1});
            inputs.push_back({e(Edit::set_send), 34, 1, key, value, 1, 1});
        }
    }
    return inputs;
}

/// Reads from the bytes the edits and their words.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Choices choices({data, size});
    Editing(choices).run();
    return 0;
}
