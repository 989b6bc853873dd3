// SPDX-License-Identifier: BSD-3-Clause
#include "app/api/change_words.hpp"

#include <gmock/gmock.h>
#include <set>

#include "app/prompt/context.hpp"
#include "base/error.hpp"

namespace spead::app {
namespace {

using testing::HasSubstr;
using Kind = ChangePath::Kind;
using Words = std::vector<std::string>;

ChangePath change_of(const std::string& syntax) {
    return change_path({syntax, "", "", {}});
}
Words words(const std::string& syntax, const char* body) {
    return words_of(change_of(syntax), nlohmann::json::parse(body));
}
std::string refusal(const std::string& syntax, const char* body) {
    try {
        words(syntax, body);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "taken";
}

constexpr const char* kAdd = "stream add NAME port PORT endpoints ENDPOINTS [KEY VALUE]...";
constexpr const char* kSet = "stream set STREAM KEY VALUE [KEY VALUE]...";

TEST(ChangeWords, ThePathHasTheWordsAndMembersAreArguments) {
    const ChangePath add = change_of(kAdd);
    EXPECT_EQ(add.path, "/api/v1/stream/add");
    EXPECT_EQ(add.members, (std::vector<ChangePath::Member>{{"name", Kind::text, true},
                                                            {"port", Kind::literal, true},
                                                            {"port", Kind::text, true},
                                                            {"endpoints", Kind::literal, true},
                                                            {"endpoints", Kind::text, true},
                                                            {"settings", Kind::settings, false}}));
    EXPECT_EQ(change_of(kSet).members, (std::vector<ChangePath::Member>{{"stream", Kind::text, true},
                                                                        {"settings", Kind::settings, true}}));
    EXPECT_EQ(change_of("save config FILE [force]").members,
              (std::vector<ChangePath::Member>{{"file", Kind::text, true}, {"force", Kind::flag, false}}));
    EXPECT_EQ(change_of("dummy SEND [PACKETS]").members,
              (std::vector<ChangePath::Member>{{"send", Kind::text, true}, {"packets", Kind::text, false}}));
    EXPECT_EQ(change_of("shutdown").path, "/api/v1/shutdown");
}

TEST(ChangeWords, ABodyBecomesTheCommand) {
    EXPECT_EQ(words(kAdd, R"({"settings":{"heaps.queue_depth":64,"enabled":true},"endpoints":"239.1.0.0:7148",
                              "name":"s 1","port":"p0"})"),
              (Words{"stream", "add", "s 1", "port", "p0", "endpoints", "239.1.0.0:7148", "enabled", "true",
                     "heaps.queue_depth", "64"}));
    EXPECT_EQ(words("stream stop STREAM|all", R"({"stream":"all"})"), (Words{"stream", "stop", "all"}));
    EXPECT_EQ(words("dummy SEND [PACKETS]", R"({"send":"d0","packets":8})"), (Words{"dummy", "d0", "8"}));
    EXPECT_EQ(words("dummy SEND [PACKETS]", R"({"send":"d0"})"), (Words{"dummy", "d0"}));
    EXPECT_EQ(words("save config FILE [force]", R"({"file":"a","force":true})"),
              (Words{"save", "config", "a", "force"}));
    EXPECT_EQ(words("save config FILE [force]", R"({"file":"a","force":false})"),
              (Words{"save", "config", "a"}));
    EXPECT_EQ(words("shutdown", "{}"), (Words{"shutdown"}));
}

TEST(ChangeWords, WrongMembersAreNamed) {
    EXPECT_THAT(refusal(kAdd, R"({"name":"s1","endpoints":"x"})"),
                HasSubstr("port: it is missing; /api/v1/stream/add"));
    EXPECT_THAT(refusal(kAdd, R"({"nom":"s1"})"),
                HasSubstr("nom: /api/v1/stream/add has no such member; its members are "
                          "name, port, endpoints, settings"));
    EXPECT_THAT(refusal("shutdown", R"({"now":true})"), HasSubstr("send {}"));
    EXPECT_THAT(refusal(kSet, R"({"stream":"s0"})"), HasSubstr("settings: it is missing"));
    EXPECT_THAT(refusal(kSet, R"({"stream":"s0","settings":{}})"), HasSubstr("an object of keys and values"));
    EXPECT_THAT(refusal(kSet, R"({"stream":"s0","settings":[1]})"),
                HasSubstr("an object of keys and values"));
    EXPECT_THAT(refusal(kSet, R"({"stream":"s0","settings":{"poll":null}})"), HasSubstr("poll: it is null"));
    EXPECT_THAT(refusal(kSet, R"({"stream":["s0"],"settings":{"poll":"busy"}})"),
                HasSubstr("stream: it is array"));
    EXPECT_THAT(refusal("save config FILE [force]", R"({"file":"a","force":"yes"})"),
                HasSubstr("force: it is string, and must be true or false"));
}

TEST(ChangeWords, EverythingThatThePromptChangesIsThereOnce) {
    std::vector<PromptCommand> commands;
    add_change_commands(commands);
    add_run_commands(commands);
    std::set<std::string> paths;
    for (const ChangePath& change : change_paths())
        EXPECT_TRUE(paths.insert(change.path).second) << change.path;
    for (const PromptCommand& command : commands)
        EXPECT_TRUE(paths.contains(change_path(command).path)) << command.syntax;
    EXPECT_TRUE(paths.contains("/api/v1/log/level"));
    EXPECT_TRUE(paths.contains("/api/v1/shutdown"));
    EXPECT_EQ(paths.size(), commands.size() + 2);
}

}  // namespace
}  // namespace spead::app
