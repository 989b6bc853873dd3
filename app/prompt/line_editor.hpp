// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/prompt/grammar.hpp"
#include "app/prompt/history_search.hpp"

struct rdline;

namespace spead::app {

/// Edits lines with librte_cmdline (its rdline: keys, kill buffer, history), with completion and a search
/// through the history (Ctrl-R) of our own. Ctrl-L clears the screen. Fed by character, so any number of them
/// runs side by side. One thread.
class LineEditor {
  public:
    /// Holds the possible words after the text left of the cursor, or the fault in it.
    struct Completion {
        std::size_t partial = 0;  ///< bytes of the unfinished word
        std::vector<Grammar::Choice> choices;
        std::string wrong;
    };
    using Complete = std::function<Completion(std::string_view left)>;
    using Print = std::function<void(std::string_view)>;

    LineEditor(std::string prompt, Complete complete, Print print);
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    /// Shows the prompt and takes a new line.
    void begin();
    /// Shows `text`, which ends in a newline, in place of the edited line, and that line again below.
    void interrupt(std::string_view text);

    enum class Key : std::uint8_t { more, line, end };
    /// Takes a key. `line`: line() has the typed line; call begin() then. `end`: Ctrl-D on an empty line.
    Key feed(char c);
    const std::string& line() const { return line_; }
    /// Returns whether the line is empty.
    bool empty() const;

    /// Limits a line, as rdline does; further characters are ignored.
    static constexpr std::size_t kLongestLine = 512;

  private:
    Key give(char c);
    Key search(char c);
    void set_line(const std::string& text);
    void redisplay();
    static int on_char(rdline* editor, char c);
    static void on_line(rdline* editor, const char* text, unsigned size);
    static int on_complete(rdline* editor, const char* left, char* out, unsigned size, int* state);
    int complete(std::string_view left, char* out, unsigned size, int& state);
    std::string choice_line(std::size_t i) const;
    void flush();

    std::string prompt_;
    Complete ask_;
    Print print_;
    std::unique_ptr<rdline, void (*)(rdline*)> editor_;
    HistorySearch search_;
    std::string output_;  ///< rdline writes by character
    std::string line_;
    bool has_line_ = false;
    Completion shown_;
};

}  // namespace spead::app
