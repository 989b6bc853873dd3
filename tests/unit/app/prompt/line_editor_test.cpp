// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/line_editor.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace spead::app {
namespace {

using testing::HasSubstr;

class LineEditorTest : public testing::Test {
  protected:
    LineEditorTest()
        : editor_(
              "> ",
              [this](std::string_view left) {
                  asked_ = left;
                  return answer_;
              },
              [this](std::string_view text) { screen_ += text; }) {
        editor_.begin();
    }
    LineEditor::Key type(std::string_view keys) {
        LineEditor::Key key{};
        for (const char c : keys)
            key = editor_.feed(c);
        return key;
    }

    std::string screen_;
    std::string asked_;
    LineEditor::Completion answer_;
    LineEditor editor_;
};

TEST_F(LineEditorTest, ALineIsTypedAndShown) {
    EXPECT_EQ(type("show"), LineEditor::Key::more);
    EXPECT_EQ(type(" x\r"), LineEditor::Key::line);
    EXPECT_EQ(editor_.line(), "show x");
    EXPECT_EQ(screen_, "> show x\r\n");
}

TEST_F(LineEditorTest, KeysEdit) {
    type("stowx\b");
    type("\x01");      // to the beginning
    type("\x06\x04");  // one right, delete
    EXPECT_EQ(type("h\n"), LineEditor::Key::line);
    EXPECT_EQ(editor_.line(), "show");
}

TEST_F(LineEditorTest, ControlDEndsAnEmptyLineOnly) {
    EXPECT_EQ(type("a\x04"), LineEditor::Key::more);
    type("\b");
    EXPECT_TRUE(editor_.empty());
    EXPECT_EQ(type("\x04"), LineEditor::Key::end);
}

TEST_F(LineEditorTest, HistoryComesBack) {
    type("first\r");
    editor_.begin();
    type("second\r");
    editor_.begin();
    type("\x10\x10");  // up, up
    EXPECT_EQ(type("\r"), LineEditor::Key::line);
    EXPECT_EQ(editor_.line(), "first");
}

TEST_F(LineEditorTest, TabCompletesWhatIsCertain) {
    answer_ = {2, {{"show", "look", true}}, ""};
    type("sh\t");
    EXPECT_EQ(asked_, "sh");
    EXPECT_EQ(type("\r"), LineEditor::Key::line);
    EXPECT_EQ(editor_.line(), "show ");
}

TEST_F(LineEditorTest, TabCompletesWhatSeveralHaveInCommonThenListsThem) {
    answer_ = {1, {{"start", "begin", true}, {"stop", "end", true}}, ""};
    type("s\t");
    EXPECT_THAT(screen_, HasSubstr("> st"));
    answer_.partial = 2;
    type("\t");
    EXPECT_THAT(screen_, HasSubstr(" start  begin\r\n"));
    EXPECT_THAT(screen_, HasSubstr(" stop   end\r\n"));
    type("\r");
    EXPECT_EQ(editor_.line(), "st");
}

TEST_F(LineEditorTest, WhatIsNoWordIsListedAndNeverInserted) {
    answer_ = {0, {{"<NAME>", "a name", false}}, ""};
    type("x \t");
    EXPECT_THAT(screen_, HasSubstr("<NAME>  a name"));
    type("\r");
    EXPECT_EQ(editor_.line(), "x ");
}

TEST_F(LineEditorTest, AQuestionMarkListsAndIsNotTyped) {
    answer_ = {0, {{"show", "look", true}}, ""};
    type("?");
    EXPECT_THAT(screen_, HasSubstr("show  look"));
    type("\r");
    EXPECT_EQ(editor_.line(), "");
}

TEST_F(LineEditorTest, WhatIsWrongIsTold) {
    answer_ = {0, {}, "`x` is not a command"};
    type("x ?");
    EXPECT_THAT(screen_, HasSubstr("`x` is not a command\r\n"));
}

TEST_F(LineEditorTest, ControlLClearsTheScreenAndKeepsTheLine) {
    type("show p");
    screen_.clear();
    type("\x0C");
    EXPECT_TRUE(screen_.starts_with("\033[H\033[2J")) << screen_;
    EXPECT_THAT(screen_, HasSubstr("> show p"));
    type("ort\n");
    EXPECT_EQ(editor_.line(), "show port");
}

class HistorySearchTest : public LineEditorTest {
  protected:
    HistorySearchTest() {
        for (const char* line : {"show stream s0", "stream set s0 poll busy", "show port", "help"}) {
            type(std::string(line) + "\n");
            editor_.begin();
        }
        screen_.clear();
    }
};

TEST_F(HistorySearchTest, EnterCarriesOutWhatWasFound) {
    EXPECT_EQ(type("\x12show"), LineEditor::Key::more);
    EXPECT_TRUE(screen_.ends_with("(search) `show`: show port")) << screen_;
    EXPECT_EQ(type("\n"), LineEditor::Key::line);
    EXPECT_EQ(editor_.line(), "show port");
}

TEST_F(HistorySearchTest, AgainFindsAnOlderOneAndStaysAtTheOldest) {
    type("\x12show\x12");
    EXPECT_TRUE(screen_.ends_with("`show`: show stream s0")) << screen_;
    type("\x12");
    EXPECT_TRUE(screen_.ends_with("(nothing older; search) `show`: show stream s0")) << screen_;
    EXPECT_EQ(type("\r"), LineEditor::Key::line);
    EXPECT_EQ(editor_.line(), "show stream s0");
}

TEST_F(HistorySearchTest, BackspaceWidensTheSearch) {
    type(
        "\x12"
        "sz");
    EXPECT_THAT(screen_, HasSubstr("nothing older"));
    type(
        "\x7F"
        "et");
    EXPECT_TRUE(screen_.ends_with("(search) `set`: stream set s0 poll busy")) << screen_;
}

TEST_F(HistorySearchTest, AnotherKeyEditsWhatWasFound) {
    type("\x12poll\x01");  // Ctrl-A: to its beginning
    type("x");
    EXPECT_EQ(type("\n"), LineEditor::Key::line);
    EXPECT_EQ(editor_.line(), "xstream set s0 poll busy");
}

TEST_F(HistorySearchTest, GivingUpBringsBackWhatWasTyped) {
    type("mine");
    type("\x12show\x07");
    EXPECT_THAT(screen_, HasSubstr("> mine"));
    EXPECT_EQ(type("\n"), LineEditor::Key::line);
    EXPECT_EQ(editor_.line(), "mine");
}

TEST_F(HistorySearchTest, WhatIsToldInBetweenLeavesTheSearchThere) {
    type(
        "\x12"
        "port");
    editor_.interrupt("news\n");
    EXPECT_TRUE(screen_.ends_with("news\n\r\033[K(search) `port`: show port")) << screen_;
}

TEST_F(HistorySearchTest, EnterOnNothingGoesOnWithTheLine) {
    type("mine");
    EXPECT_EQ(type("\x12"
                   "zzz\n"),
              LineEditor::Key::more);
    EXPECT_EQ(type("\n"), LineEditor::Key::line);
    EXPECT_EQ(editor_.line(), "mine");
}

TEST_F(LineEditorTest, LongLinesAndStrangeBytesDoNoHarm) {
    type(std::string(3000, 'a'));
    type("\xff\x80\xc3");
    EXPECT_EQ(type("\r"), LineEditor::Key::line);
    EXPECT_LE(editor_.line().size(), LineEditor::kLongestLine);
    EXPECT_EQ(editor_.line().find_first_not_of('a'), std::string::npos);
}

TEST_F(LineEditorTest, WhatIsToldInBetweenDoesNotTouchTheLine) {
    type("show");
    screen_.clear();
    editor_.interrupt("news\n");
    EXPECT_THAT(screen_, testing::StartsWith("\r\033[Knews\n"));
    EXPECT_THAT(screen_, HasSubstr("> show"));
    type("\x01");  // to the beginning
    editor_.interrupt("more\n");
    EXPECT_EQ(type("x\r"), LineEditor::Key::line);
    EXPECT_EQ(editor_.line(), "xshow") << "and the cursor is where it was";
}

}  // namespace
}  // namespace spead::app
