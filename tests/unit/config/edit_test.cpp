// SPDX-License-Identifier: BSD-3-Clause
#include "config/edit.hpp"

#include <gmock/gmock.h>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "config/config.hpp"
#include "config/keys.hpp"
#include "config/shards.hpp"
#include "runtime/paths.hpp"
#include "tests/support/refusal.hpp"

namespace spead::config {
namespace {

using runtime::Plan;
using spead::test::refusal;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Returns the file's text of a value, without its quotes and brackets.
std::string as_typed(const Key& key, const Value& value) {
    std::string text = std::holds_alternative<std::monostate>(value) ? "" : file_text(key, value);
    std::erase_if(text, [](char c) { return c == '"' || c == '[' || c == ']' || c == ' '; });
    return text;
}

class EditTest : public testing::Test {
  protected:
    static Plan plan() {
        return parse_text(R"(version = 1
[[port]]
name = "p0"
device = "net_null0"
[[receive]]
name = "a"
port = "p0"
endpoints = ["239.1.0.0+3:7148", "239.2.0.0:7148"]
[[receive]]
name = "b"
port = "p0"
endpoints = ["239.3.0.0:7148"]
[[send]]
name = "d"
port = "p0"
endpoints = ["239.4.0.0:7148"]
)",
                          "test");
    }
};

TEST_F(EditTest, AStreamIsAddedWithTheFilesKeysAndUnits) {
    const Plan before = plan();
    const Plan after = add_stream(before, "c", "p0", "239.5.0.0+1:7148,239.6.0.0:7149",
                                  {{"lcores", "1,3-5"},
                                   {"poll", "busy"},
                                   {"buffer_size", "1MiB"},
                                   {"in_order", "true"},
                                   {"heaps.queue_depth", "512"},
                                   {"heaps.timeout", "250ms"},
                                   {"sink.kind", "file"},
                                   {"sink.directory", "7"}});
    ASSERT_EQ(after.receives.size(), 3u);
    const runtime::ReceivePlan& c = after.receives[2];
    EXPECT_EQ(c.name, "c");
    EXPECT_EQ(c.endpoints.size(), 3u);
    EXPECT_THAT(c.lcores, ElementsAre(1u, 3u, 4u, 5u));
    EXPECT_EQ(c.poll, runtime::PollMode::busy);
    EXPECT_EQ(c.buffer_size, 1u << 20);
    EXPECT_TRUE(c.in_order);
    EXPECT_EQ(c.queue_depth, 512u);
    EXPECT_DOUBLE_EQ(c.timeout, 0.25);
    EXPECT_EQ(c.sink.kind, runtime::SinkKind::file);
    EXPECT_EQ(c.sink.directory, "7");
    // Everything else is as it was.
    Plan rest = after;
    rest.receives.pop_back();
    EXPECT_EQ(rest, before);
}

TEST_F(EditTest, WhatIsAddedIsWhatTheFileWouldHave) {
    const Plan typed = add_stream(plan(), "c", "p0", "239.5.0.0:7148", {{"max_packet_size", "9000"}});
    EXPECT_EQ(parse_text(to_toml(typed), ""), typed);
}

TEST_F(EditTest, SettingsChangeOneStreamAndDefaultTakesThemBack) {
    const Plan before = plan();
    const Plan after = set_stream(before, "b", {{"heaps.max_live", "9"}, {"lcores", "2"}});
    EXPECT_EQ(after.receives[1].max_live, 9u);
    EXPECT_THAT(after.receives[1].lcores, ElementsAre(2u));
    EXPECT_EQ(after.receives[0], before.receives[0]);
    EXPECT_EQ(set_stream(after, "b", {{"heaps.max_live", "default"}, {"lcores", "default"}}), before);
}

TEST_F(EditTest, ASenderHasRatesAndTtl) {
    const Plan after = set_send(
        plan(), "d", {{"rate", "10Gbps"}, {"ttl", "4"}, {"lcore", "1"}, {"burst_rate_ratio", "1.5"}});
    EXPECT_DOUBLE_EQ(after.sends[0].rate, 1.25e9);
    EXPECT_EQ(after.sends[0].ttl, 4);
    EXPECT_EQ(after.sends[0].lcore, 1u);
    EXPECT_DOUBLE_EQ(after.sends[0].burst_rate_ratio, 1.5);
    EXPECT_DOUBLE_EQ(set_send(after, "d", {{"rate", "0"}}).sends[0].rate, 0);
    EXPECT_EQ(set_send(after, "d", {{"lcore", "default"}}).sends[0].lcore, std::nullopt);
    EXPECT_EQ(add_send(after, "e", "p0", "239.7.0.0:7148", {{"rate", "1Mbps"}}).sends.size(), 2u);
    EXPECT_TRUE(delete_send(after, "d").sends.empty());
    const Plan unicast =
        set_send(plan(), "d", {{"endpoints", "10.0.0.1:7148"}, {"dst_mac", "02:00:00:00:00:01"}});
    EXPECT_TRUE(unicast.sends[0].dst_mac.has_value());
}

TEST_F(EditTest, ASenderOfAPatternHasItsSizesUnlessTheyAreGiven) {
    const Plan after = add_send(plan(), "e", "p0", "239.7.0.0:7148",
                                {{"heap_size", "16KiB"}, {"pattern", "p3"}, {"senders", "4"}});
    EXPECT_EQ(after.sends[1].heap_size, 16384u);
    EXPECT_EQ(after.sends[1].max_packet_size, 8264u);
    EXPECT_EQ(set_send(after, "e", {{"heap_size", "default"}}).sends[1].heap_size, 65536u);
}

TEST_F(EditTest, StreamsAreDeleted) {
    const Plan after = delete_stream(plan(), "a");
    ASSERT_EQ(after.receives.size(), 1u);
    EXPECT_EQ(after.receives[0].name, "b");
    EXPECT_TRUE(delete_stream(after, "b").receives.empty());
}

TEST_F(EditTest, EndpointsComeAndGo) {
    const Plan more = add_endpoints(plan(), "b", "239.9.0.0+1:7148");
    EXPECT_THAT(more.receives[1].endpoint_texts, ElementsAre("239.3.0.0:7148", "239.9.0.0+1:7148"));
    // From the middle of a range; other ranges keep the words they were written with.
    const Plan less = delete_endpoints(plan(), "a", "239.1.0.1:7148");
    EXPECT_THAT(less.receives[0].endpoint_texts,
                ElementsAre("239.1.0.0:7148", "239.1.0.2+1:7148", "239.2.0.0:7148"));
    EXPECT_EQ(less.receives[0].endpoints.size(), 4u);
    const Plan one = delete_endpoints(plan(), "a", "239.1.0.0+3:7148");
    EXPECT_THAT(one.receives[0].endpoint_texts, ElementsAre("239.2.0.0:7148"));
}

TEST_F(EditTest, EndpointsOfTwoPathsComeAndGoTogether) {
    const Plan before = set_stream(
        plan(), "a", {{"paths", "p0,p0"}, {"path_endpoints", "239.7.0.0+2:7148,239.8.0.0+1:7148"}});
    const Plan less = delete_endpoints(before, "a", "239.1.0.1+1:7148");
    EXPECT_THAT(less.receives[0].endpoint_texts,
                ElementsAre("239.1.0.0:7148", "239.1.0.3:7148", "239.2.0.0:7148"));
    EXPECT_THAT(less.receives[0].path_endpoint_texts, ElementsAre("239.7.0.0:7148", "239.8.0.0+1:7148"));
    EXPECT_EQ(to_string(less.receives[0].path_endpoints[1]), "239.8.0.0:7148");

    const std::string why = refusal([&] { add_endpoints(before, "a", "239.9.0.0+1:7148"); });
    EXPECT_THAT(why, HasSubstr("a twin on its second path"));
    const auto typed = why.find("`stream set a ");
    ASSERT_NE(typed, std::string::npos) << why;
    EXPECT_EQ(why.substr(typed),
              "`stream set a endpoints 239.1.0.0+3:7148,239.2.0.0:7148,239.9.0.0+1:7148 path_endpoints "
              "239.7.0.0+2:7148,239.8.0.0+1:7148,TWIN`");
    const Plan more = set_stream(before, "a",
                                 {{"endpoints", "239.1.0.0+3:7148,239.2.0.0:7148,239.9.0.0+1:7148"},
                                  {"path_endpoints", "239.7.0.0+2:7148,239.8.0.0+1:7148,239.6.0.0+1:7148"}});
    EXPECT_EQ(more.receives[0].path_endpoints.size(), 7U);
}

TEST_F(EditTest, WherePathsHaveTheSameEndpointsBothGetOneMore) {
    Plan before = plan();
    before.ports.push_back(before.ports.front());
    before.ports.back().name = "p1";
    before.ports.back().device = "net_ring1";
    const std::string all = "239.1.0.0+3:7148,239.2.0.0:7148";
    for (const std::string& second : {std::string("default"), all}) {
        const Plan two = set_stream(before, "a", {{"paths", "p0,p1"}, {"path_endpoints", second}});
        const Plan more = add_endpoints(two, "a", "239.9.0.0+1:7148");
        const runtime::ReceivePlan& r = more.receives[0];
        EXPECT_THAT(r.endpoint_texts, ElementsAre("239.1.0.0+3:7148", "239.2.0.0:7148", "239.9.0.0+1:7148"));
        EXPECT_EQ(runtime::endpoints_of(r, 1), r.endpoints);
        EXPECT_EQ(r.path_endpoints.empty(), second == "default") << "a list that was left out stays so";
        const Plan less = delete_endpoints(more, "a", "239.1.0.0+3:7148");
        EXPECT_EQ(runtime::endpoints_of(less.receives[0], 1).size(), 3U);
    }
}

TEST_F(EditTest, AStoppedStreamKeepsNoEndpointFromAnother) {
    Plan stopped = plan();
    stopped.receives[0].enabled = false;
    const Plan other = add_stream(stopped, "c", "p0", "239.1.0.2:7148", {});
    EXPECT_EQ(other.receives.back().name, "c");
    EXPECT_THAT(refusal([&] { add_stream(other, "d", "p0", "239.1.0.2:7148", {}); }),
                HasSubstr("already received by stream `c`"));
    EXPECT_THAT(refusal([&] { add_endpoints(stopped, "a", "239.1.0.2:7148"); }),
                HasSubstr("already in stream `a`"));
}

TEST_F(EditTest, RefusalsNameTheStreamThatHasAnEndpoint) {
    EXPECT_THAT(refusal([] { add_endpoints(plan(), "a", "239.3.0.0:7148"); }),
                HasSubstr("already received by stream `b`"));
    EXPECT_THAT(refusal([] { add_endpoints(plan(), "b", "239.2.0.0:7148"); }),
                HasSubstr("already received by stream `a`"));
    Plan both = plan();
    both.receives[1].endpoints = {both.receives[0].endpoints.back()};
    both.receives[1].endpoint_texts = {both.receives[0].endpoint_texts.back()};
    for (const std::string& asks : {std::string("a"), std::string("b")})
        EXPECT_THAT(refusal([&] { validate(both, {}, std::span(&asks, 1)); }),
                    HasSubstr(asks == "a" ? "received by stream `b`" : "received by stream `a`"));
}

TEST_F(EditTest, RefusalsAreTheFilesOwn) {
    EXPECT_THAT(refusal([] { add_stream(plan(), "c", "p0", "239.1.0.2:7148", {}); }),
                HasSubstr("already received by stream `a`"));
    EXPECT_THAT(refusal([] { add_endpoints(plan(), "b", "239.1.0.0:7148"); }), HasSubstr("stream `a`"));
    EXPECT_THAT(refusal([] { add_endpoints(plan(), "b", "239.3.0.0:7148"); }),
                HasSubstr("already in stream `b`"));
    EXPECT_THAT(refusal([] { add_stream(plan(), "a", "p0", "239.5.0.0:7148", {}); }),
                HasSubstr("a stream `a` exists already"));
    EXPECT_THAT(refusal([] { add_stream(plan(), "c", "p7", "239.5.0.0:7148", {}); }), HasSubstr("p7"));
    EXPECT_THAT(refusal([] { add_stream(plan(), "-c", "p0", "239.5.0.0:7148", {}); }),
                HasSubstr("not a name"));
    EXPECT_THAT(refusal([] {
                    set_stream(plan(), "b", {{"heaps.queue_depth", "0"}});
                }),
                HasSubstr("queue_depth"));
    EXPECT_THAT(refusal([] {
                    set_stream(plan(), "b", {{"heaps.queue_depth", "many"}});
                }),
                HasSubstr("whole number"));
    EXPECT_THAT(refusal([] {
                    set_stream(plan(), "b", {{"poll", "bussy"}});
                }),
                HasSubstr("did you mean `busy`"));
    EXPECT_THAT(refusal([] { set_stream(plan(), "b", {{"buffer_size", "16M"}}); }), HasSubstr("16M"));
    EXPECT_THAT(refusal([] { set_stream(plan(), "b", {{"lcores", "one"}}); }), HasSubstr("whole number"));
    EXPECT_THAT(refusal([] { set_send(plan(), "d", {{"ttl", "256"}}); }), HasSubstr("255"));
    EXPECT_THAT(refusal([] { set_send(plan(), "d", {{"rate", "10"}}); }), HasSubstr("10"));
}

TEST_F(EditTest, RefusalsSpeakOfNoLinesOfAFile) {
    for (const std::string& text : {refusal([] {
                                        set_stream(plan(), "b", {{"heaps.queue_depth", "0"}});
                                    }),
                                    refusal([] { add_stream(plan(), "c", "p0", "239.1.0.2:7148", {}); })})
        EXPECT_THAT(text, Not(HasSubstr("configuration:"))) << text;
}

TEST_F(EditTest, KeysAreHelpedAlong) {
    EXPECT_THAT(refusal([] {
                    set_stream(plan(), "b", {{"heaps.ring", "5"}});
                }),
                HasSubstr("`heaps.ring` is not a key of a stream; it is queue_depth in [receive.heaps]"));
    EXPECT_THAT(refusal([] {
                    set_stream(plan(), "b", {{"queue_depth", "5"}});
                }),
                HasSubstr("write `heaps.queue_depth`"));
    EXPECT_THAT(refusal([] {
                    set_stream(plan(), "b", {{"pol", "busy"}});
                }),
                HasSubstr("did you mean `poll`"));
    EXPECT_THAT(refusal([] {
                    set_stream(plan(), "b", {{"rate", "1Gbps"}});
                }),
                HasSubstr("not a key of a stream"));
    EXPECT_THAT(refusal([] {
                    set_stream(plan(), "b", {{"poll", "busy"}, {"poll", "busy"}});
                }),
                HasSubstr("twice"));
}

TEST_F(EditTest, UnknownNamesAreToldWithTheOthers) {
    EXPECT_THAT(refusal([] { delete_stream(plan(), "x"); }), HasSubstr("a or b"));
    EXPECT_THAT(refusal([] { set_send(plan(), "x", {{"ttl", "3"}}); }), HasSubstr("there is d"));
    EXPECT_THAT(refusal([] { delete_endpoints(plan(), "a", "239.3.0.0:7148"); }),
                HasSubstr("no endpoint 239.3.0.0"));
    EXPECT_THAT(refusal([] { delete_endpoints(plan(), "b", "239.3.0.0:7148"); }),
                HasSubstr("no endpoint left"));
}

TEST_F(EditTest, EveryKeyOfTheFileCanBeTyped) {
    // A plan's own values, typed again, change nothing.
    Plan before = plan();
    before.receives[1].lcores = {1, 2};
    before.sends[0].lcore = 3;
    for (const std::string_view root : {"receive", "send"})
        for (const std::string& path : key_paths(root)) {
            const Key& key = *find_key(root, path);
            const Value value =
                key.field.get(root == "send" ? ConstPart(&before.sends[0]) : ConstPart(&before.receives[1]));
            const std::string typed = as_typed(key, value);
            // A stream with one path has no skew.
            if (typed.empty() || path.starts_with("capture.") || path == "path_skew")
                continue;
            SCOPED_TRACE(fmt::format("{} {} {}", root, path, typed));
            EXPECT_EQ(root == "send" ? set_send(before, "d", {{path, typed}})
                                     : set_stream(before, "b", {{path, typed}}),
                      before);
        }
}

TEST_F(EditTest, AStreamGetsTheOtherPortByItsPaths) {
    Plan before = plan();
    before.ports.push_back(before.ports[0]);
    before.ports[1].name = "p9";
    before.ports[1].device = "net_null9";
    const std::string port = before.receives[1].port;
    const Plan with = set_stream(before, "b", {{"paths", port + ",p9"}});
    EXPECT_THAT(with.receives[1].paths, ElementsAre(port, "p9"));
    EXPECT_EQ(with.receives[1].port, port);
    EXPECT_EQ(set_stream(with, "b", {{"paths", "default"}}), before);
    EXPECT_EQ(set_stream(with, "b", {{"path_skew", "70ms"}}).receives[1].path_skew, 0.07);
    EXPECT_THAT(set_stream(with, "b", {{"paths", "p9," + port}}).receives[1].paths, ElementsAre("p9", port));
    EXPECT_THAT(refusal([&] {
                    set_stream(with, "b", {{"port", "p9"}});
                }),
                HasSubstr("both `port` and `paths`"));
    EXPECT_THAT(refusal([&] {
                    set_stream(before, "b", {{"path_skew", "50ms"}});
                }),
                HasSubstr("has one path"));
    const Plan skewed = set_stream(with, "b", {{"path_skew", "70ms"}});
    EXPECT_EQ(set_stream(skewed, "b", {{"paths", "default"}}), before) << "one path has no skew";
    EXPECT_THAT(refusal([&] {
                    set_stream(skewed, "b", {{"paths", "default"}, {"path_skew", "70ms"}});
                }),
                HasSubstr("has one path"));
    EXPECT_EQ(add_stream(before, "c", port, "239.77.0.0:7148", {{"paths", port + ",p9"}}).receives[2].paths,
              with.receives[1].paths);
}

TEST_F(EditTest, AStreamHasTheDefaultsOfItsPathsUnlessItHasOthers) {
    Plan before = plan();
    before.ports.push_back(before.ports[0]);
    before.ports[1].name = "p9";
    before.ports[1].device = "net_null9";
    const std::string paths = before.receives[1].port + ",p9";
    const runtime::ReceivePlan one_path;
    before.receives[1].max_live = one_path.max_live;
    before.receives[1].history = one_path.history;
    const Plan with = set_stream(before, "b", {{"paths", paths}});
    EXPECT_EQ(with.receives[1].max_live, runtime::kPathLive);
    EXPECT_EQ(with.receives[1].history, runtime::kPathHistory);
    EXPECT_EQ(set_stream(with, "b", {{"paths", "default"}}), before);
    EXPECT_EQ(set_stream(with, "b", {{"path_skew", "70ms"}}).receives[1].max_live, runtime::kPathLive);
    EXPECT_EQ(set_stream(before, "b", {{"paths", paths}, {"heaps.max_live", "4"}}).receives[1].max_live, 4U);
    before.receives[1].max_live = 9;
    EXPECT_EQ(set_stream(before, "b", {{"paths", paths}}).receives[1].max_live, 9U);
    const Plan skewed = set_stream(with, "b", {{"path_skew", "3s"}});
    EXPECT_EQ(skewed.receives[1].history_time, 6);
    EXPECT_EQ(set_stream(skewed, "b", {{"path_skew", "60ms"}}).receives[1].history_time, 1);
    EXPECT_EQ(set_stream(skewed, "b", {{"paths", "default"}}).receives[1].history_time, 1);
    const Plan said = set_stream(with, "b", {{"path_skew", "3s"}, {"heaps.history_time", "4s"}});
    EXPECT_EQ(said.receives[1].history_time, 4);
    EXPECT_EQ(set_stream(said, "b", {{"path_skew", "2s"}}).receives[1].history_time, 4);
}

TEST(EndpointRanges, AreAsShortAsCanBe) {
    std::vector<Endpoint> endpoints = parse_endpoints("239.1.2.0+3:7148");
    EXPECT_THAT(endpoint_ranges(endpoints), ElementsAre("239.1.2.0+3:7148"));
    endpoints.erase(endpoints.begin() + 1);
    endpoints.push_back(parse_endpoints("10.0.0.1:7148@10.0.0.2").front());
    EXPECT_THAT(endpoint_ranges(endpoints),
                ElementsAre("239.1.2.0:7148", "239.1.2.2+1:7148", "10.0.0.1:7148@10.0.0.2"));
    EXPECT_TRUE(endpoint_ranges({}).empty());
}

TEST_F(EditTest, AValueOfTheWrongTypeIsNamedWithWhatFits) {
    const Plan before = plan();
    EXPECT_THAT(
        refusal([&] {
            static_cast<void>(set_stream(before, "a", {{"heaps.queue_depth", "lots"}}));
        }),
        AllOf(HasSubstr("`queue_depth` is a string, \"lots\"; give a whole number, "), HasSubstr(" to ")));
}

TEST_F(EditTest, AStreamGetsChunksAndLosesThemAgain) {
    const Plan before = plan();
    const Plan with = set_stream(
        before, "b", {{"chunk.placement", "heap 64; time: item 0x1600 / 4096 [8]"}, {"chunk.chunks", "5"}});
    ASSERT_TRUE(with.receives[1].chunk);
    EXPECT_EQ(with.receives[1].chunk->chunks, 5u);
    EXPECT_EQ(set_stream(with, "b", {{"chunk.placement", "default"}}), before)
        << "without its placement, no other key of the table means anything";
    for (const char* const value : {"6", "8"})
        EXPECT_THAT(
            refusal([&] {
                static_cast<void>(
                    set_stream(with, "b", {{"chunk.chunks", value}, {"chunk.placement", "default"}}));
            }),
            HasSubstr(std::string("removes all keys of `chunk`, and `chunk.chunks ") + value + "` sets one"));
    EXPECT_EQ(set_stream(with, "b", {{"chunk.placement", "default"}, {"chunk.chunks", "default"}}), before);
    EXPECT_THAT(refusal([&] { set_stream(before, "b", {{"chunk.chunks", "5"}}); }), HasSubstr("placement"));
    EXPECT_THAT(refusal([&] { set_stream(with, "b", {{"chunk.chunks", "2"}}); }), HasSubstr("= 3 chunks"));
}

TEST(Edit, AShardStaysThatShard) {
    const Plan whole = parse_text(
        "version = 1\n[[port]]\nname = \"p0\"\ndevice = \"net_ring0\"\n[[receive]]\nname = \"s0\"\nport = "
        "\"p0\"\nendpoints = [\"239.1.0.0+7:7148\"]\nassign = [\"239.1.0.0:7148=1\"]\n",
        "");
    const Plan mine = plan_of_shard(whole, {1, 2});
    EXPECT_EQ(delete_endpoints(mine, "s0", "239.1.0.0:7148").shard, mine.shard);
    EXPECT_EQ(add_stream(mine, "s1", "p0", "239.2.0.0:7148", {}).shard, mine.shard);
}

}  // namespace
}  // namespace spead::config
