// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/grammar.hpp"

#include <gmock/gmock.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/prompt/context.hpp"
#include "app/prompt/words.hpp"
#include "base/error.hpp"
#include "config/keys.hpp"
#include "tests/support/refusal.hpp"

namespace spead::app {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class GrammarTest : public testing::Test {
  protected:
    Grammar::Found understand(const std::string& line) const {
        return grammar_.understand(split_words(line).words, names_);
    }
    std::string refusal(const std::string& line) const {
        return spead::test::refusal([&] { understand(line); });
    }
    /// Returns the words that may follow, placeholders included.
    std::vector<std::string> next(const std::string& line) const {
        Words typed = split_words(line);
        std::string partial;
        if (typed.last_is_open) {
            partial = typed.words.back();
            typed.words.pop_back();
        }
        std::vector<std::string> texts;
        for (const Grammar::Choice& choice : grammar_.complete(typed.words, partial, names_))
            texts.push_back(choice.text);
        return texts;
    }

    Grammar grammar_{prompt_commands()};
    Vocabulary names_{{"p0", "p1"}, {"fengine", "beam"}, {"dsim"}, {"1", "2"}, {}};
};

TEST_F(GrammarTest, ArgumentsAreFoundByName) {
    const auto found =
        understand("stream add x port p0 endpoints 239.1.1.1:7148 poll busy heaps.queue_depth 512");
    EXPECT_EQ(found.call.value("NAME"), "x");
    EXPECT_EQ(found.call.value("PORT"), "p0");
    EXPECT_EQ(found.call.value("ENDPOINTS"), "239.1.1.1:7148");
    EXPECT_THAT(found.call.settings,
                ElementsAre(std::pair<std::string, std::string>("poll", "busy"),
                            std::pair<std::string, std::string>("heaps.queue_depth", "512")));
}

TEST_F(GrammarTest, WhatIsLeftOutIsNotThere) {
    EXPECT_FALSE(understand("show stream").call.has("STREAM"));
    EXPECT_EQ(understand("show stream").call.value("STREAM", "all"), "all");
    EXPECT_EQ(understand("show stream beam").call.value("STREAM"), "beam");
    EXPECT_FALSE(understand("save config f").call.has("force"));
    EXPECT_TRUE(understand("save config f force").call.has("force"));
}

TEST_F(GrammarTest, AWordWinsOverAnArgument) {
    EXPECT_EQ(understand("show port xstats p1").command->syntax, "show port xstats PORT");
    EXPECT_EQ(understand("show port p1").command->syntax, "show port [PORT|all]");
}

TEST_F(GrammarTest, TheRestIsACommandOfItsOwn) {
    EXPECT_THAT(understand("watch 1 show stream beam").call.rest, ElementsAre("show", "stream", "beam"));
    EXPECT_THAT(understand("help").call.rest, IsEmpty());
    EXPECT_THAT(understand("help stream add").call.rest, ElementsAre("stream", "add"));
}

TEST_F(GrammarTest, UnknownWordsAreRefusedWithTheNearest) {
    EXPECT_THAT(refusal("shwo stream"), HasSubstr("`shwo` is not a command (did you mean `show`?)"));
    EXPECT_THAT(refusal("stream ad x"), HasSubstr("`ad` cannot follow `stream` (did you mean `add`?)"));
    EXPECT_THAT(refusal("stream ad x"), HasSubstr("add, delete, start, stop or set can"));
    EXPECT_THAT(refusal("stream delete bean"), HasSubstr("no stream `bean` (did you mean `beam`?)"));
    EXPECT_THAT(refusal("show port p7"), HasSubstr("p0 or p1"));
    EXPECT_THAT(refusal("show lcore 9"), HasSubstr("there is no lcore `9`"));
    EXPECT_THAT(refusal("quit now"), HasSubstr("`now` is an extra word: the command is quit"));
}

TEST_F(GrammarTest, NamesThatAreNotThereAreNoUsageErrors) {
    for (const char* const line : {"stream delete bean", "show port p7", "show lcore 9", "send stop x"})
        EXPECT_THAT(test::passing_error_of([&] { understand(line); }), HasSubstr("there is no ")) << line;
    for (const char* const line : {"shwo stream", "stream ad x", "quit now", "watch never show stream"})
        EXPECT_THROW(understand(line), UsageError) << line;
}

TEST_F(GrammarTest, HalfACommandSaysWhatIsMissing) {
    EXPECT_THAT(refusal("stream"), HasSubstr("`stream` is not all of a command; add, delete"));
    EXPECT_THAT(refusal("stream add x"),
                HasSubstr("port is missing after `stream add x`; the command is stream add NAME port PORT"));
    EXPECT_THAT(refusal("stream add x port p0 endpoints 239.1.1.1:7148 poll"), HasSubstr("VALUE is missing"));
    EXPECT_THAT(refusal("stream set beam"), HasSubstr("KEY is missing"));
    EXPECT_THAT(refusal("watch 1"), HasSubstr("COMMAND... is missing"));
    EXPECT_THAT(refusal("save"), HasSubstr("config is missing"));
}

TEST_F(GrammarTest, AWrongNameIsToldBeforeWhatIsMissingBehindIt) {
    EXPECT_THAT(refusal("stream set bean"), HasSubstr("no stream `bean`"));
    EXPECT_THAT(refusal("stream add x port p9"), HasSubstr("no port `p9`"));
    EXPECT_THAT(refusal("stream set beam pol"), HasSubstr("(did you mean `poll`?)"));
}

TEST_F(GrammarTest, ArgumentsHaveTheirKind) {
    EXPECT_THAT(refusal("endpoint add beam 239.1.1:7148"), HasSubstr("239.1.1"));
    EXPECT_THAT(refusal("endpoint add beam 239.1.1.1:7148,"), Not(""));
    EXPECT_THAT(refusal("watch soon show stream"), HasSubstr("soon"));
    EXPECT_THAT(refusal("watch 0 show stream"), HasSubstr("not a time to wait"));
    EXPECT_THAT(refusal("stream set beam queue_depth 5"), HasSubstr("write `heaps.queue_depth`"));
    EXPECT_THAT(refusal("send set dsim poll busy"), HasSubstr("`poll` is not a key of a sender"));
}

TEST_F(GrammarTest, CompletionKnowsWordsAndNames) {
    EXPECT_THAT(next("sh"), ElementsAre("show", "shutdown"));
    EXPECT_THAT(next("stream "), ElementsAre("add", "delete", "start", "stop", "set"));
    EXPECT_THAT(next("stream delete "), ElementsAre("fengine", "beam"));
    EXPECT_THAT(next("stream delete b"), ElementsAre("beam"));
    EXPECT_THAT(next("stream start a"), ElementsAre("all"));
    EXPECT_THAT(next("send set "), ElementsAre("dsim"));
    EXPECT_THAT(next("show port "), ElementsAre("<return>", "all", "p0", "p1", "xstats"));
    EXPECT_THAT(next("stream add x port "), ElementsAre("p0", "p1"));
    EXPECT_THAT(next("nonsense "), IsEmpty());
    EXPECT_THAT(next("quit "), ElementsAre("<return>"));
}

TEST_F(GrammarTest, CompletionKnowsKeysAndTheirValues) {
    EXPECT_THAT(next("stream set beam heaps.q"), ElementsAre("heaps.queue_depth"));
    EXPECT_THAT(next("stream set beam poll "), ElementsAre("busy", "adaptive", "interrupt", "<VALUE>"));
    EXPECT_THAT(next("stream set beam poll busy max_p"), ElementsAre("max_poll", "max_packet_size"));
    EXPECT_THAT(next("stream set beam "), Not(Contains("rate")));
    EXPECT_THAT(next("send set dsim "), Contains("rate"));
    EXPECT_THAT(next("send set dsim zero_copy n"), ElementsAre("never"));
}

TEST_F(GrammarTest, EveryKeyWithChoicesOffersThemAll) {
    for (const auto& [command, root] : {std::pair("stream set beam", "receive"), {"send set dsim", "send"}})
        for (const std::string& key : config::key_paths(root)) {
            const auto words = config::choices(*config::find_key(root, key));
            std::vector<std::string> expected(words.begin(), words.end());
            if (key == "port")
                expected = names_.ports;
            expected.emplace_back("<VALUE>");
            EXPECT_THAT(next(fmt::format("{} {} ", command, key)), ElementsAreArray(expected));
        }
    EXPECT_THAT(next("send set dsim pacer "), ElementsAre("software", "auto", "hardware", "<VALUE>"));
}

TEST_F(GrammarTest, EveryKeyHasAWordOfItsMeaning) {
    std::size_t keys = 0;
    for (const char* const command : {"stream set beam", "send set dsim"})
        for (const Grammar::Choice& choice : grammar_.complete(split_words(command).words, "", names_)) {
            if (!choice.insertable)
                continue;
            keys++;
            EXPECT_GT(choice.help.size(), 5U) << command << " " << choice.text;
            EXPECT_LT(choice.text.size() + choice.help.size(), 76U) << choice.text;
        }
    EXPECT_EQ(keys, config::key_paths("receive").size() + config::key_paths("send").size());
}

TEST_F(GrammarTest, CompletionGoesIntoTheRest) {
    EXPECT_THAT(next("watch 1 sh"), ElementsAre("show", "shutdown"));
    EXPECT_THAT(next("watch 1 show heap be"), ElementsAre("beam"));
    EXPECT_THAT(next("watch "), ElementsAre("<SECONDS>"));
    EXPECT_THAT(next("help "), Contains("<return>")) << "it may stand alone";
    EXPECT_THAT(next("watch 1 "), Not(Contains("<return>")));
}

TEST_F(GrammarTest, EveryCommandHasHelp) {
    const std::string all = grammar_.help({});
    for (const PromptCommand& command : grammar_.commands()) {
        EXPECT_THAT(all, HasSubstr(command.syntax));
        EXPECT_FALSE(command.help.empty()) << command.syntax;
        EXPECT_TRUE(command.handler) << command.syntax;
    }
    EXPECT_THAT(grammar_.help({"stream", "add"}), HasSubstr("[[receive]]"));
    EXPECT_THAT(grammar_.help({"send"}), Not(HasSubstr("stream add")));
    EXPECT_THROW(grammar_.help({"strem"}), UsageError);
}

TEST_F(GrammarTest, ASyntaxThatCannotBeReadIsNoCommand) {
    EXPECT_THROW(Grammar({{"do WHAT", "", "", {}}}), Error);
    EXPECT_THROW(Grammar({{"", "", "", {}}}), Error);
}

}  // namespace
}  // namespace spead::app
