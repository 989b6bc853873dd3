// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/line_editor.hpp"

#include <algorithm>
#include <cmdline_rdline.h>
#include <cstring>

#include <climits>
#include <fmt/core.h>

#include "base/error.hpp"
#include "observe/table.hpp"

namespace spead::app {

namespace {

/// Names the results of rdline's `complete`, and its initial states.
constexpr int kNothing = 0;
constexpr int kShowChoice = 1;
constexpr int kInsert = 2;
constexpr int kFirstTab = 0;
constexpr int kFirstHelp = -1;

constexpr char kClearKey = 0x0C;   // Ctrl-L
constexpr char kSearchKey = 0x12;  // Ctrl-R

LineEditor* self(rdline* editor) {
    return static_cast<LineEditor*>(rdline_get_opaque(editor));
}

int put(std::string_view text, char* out, unsigned size, int what) {
    if (size == 0)
        return kNothing;
    const std::size_t length = std::min<std::size_t>(text.size(), size - 1);
    std::memcpy(out, text.data(), length);
    out[length] = '\0';
    return what;
}

}  // namespace

LineEditor::LineEditor(std::string prompt, Complete complete, Print print)
    : prompt_(std::move(prompt)),
      ask_(std::move(complete)),
      print_(std::move(print)),
      editor_(rdline_new(on_char, on_line, on_complete, this), rdline_free),
      search_([this](unsigned i) -> const char* {
          // rdline counts in int.
          return i > INT_MAX ? nullptr : rdline_get_history_item(editor_.get(), i);
      }) {
    if (!editor_)
        throw_error("prompt", "no memory for a line editor");
}

LineEditor::~LineEditor() = default;

void LineEditor::begin() {
    rdline_newline(editor_.get(), prompt_.c_str());
    flush();
}

void LineEditor::interrupt(std::string_view text) {
    print_(fmt::format("\r\033[K{}", text));
    redisplay();
}

/// Shows the edited line, or the search.
void LineEditor::redisplay() {
    if (search_.on()) {
        print_(fmt::format("\r\033[K{}", search_.text()));
        return;
    }
    rdline_redisplay(editor_.get());
    flush();
}

/// Sets the line as if it had been typed, without showing it.
void LineEditor::set_line(const std::string& text) {
    constexpr std::string_view kToTheBeginning = "\x01";
    constexpr std::string_view kKillTheRest = "\x0B";
    for (const std::string_view keys : {kToTheBeginning, kKillTheRest, std::string_view(text)})
        for (const char c : keys)
            rdline_char_in(editor_.get(), c);
    output_.clear();
}

/// Takes a key during a search of the history.
LineEditor::Key LineEditor::search(char c) {
    const HistorySearch::Key key = search_.feed(c);
    const bool found = !search_.found().empty();
    if (found && (key == HistorySearch::Key::take || key == HistorySearch::Key::run))
        set_line(search_.found());
    if (key != HistorySearch::Key::more)
        print_("\r\033[K");
    redisplay();
    if (key == HistorySearch::Key::take || (found && key == HistorySearch::Key::run))
        return give(c);
    return Key::more;
}

LineEditor::Key LineEditor::feed(char c) {
    // rdline asks isprint() of a plain char.
    if ((static_cast<unsigned char>(c) & 0x80) != 0)
        return Key::more;
    if (c == kClearKey) {
        print_("\033[H\033[2J");
        redisplay();
        return Key::more;
    }
    if (search_.on())
        return search(c);
    if (c == kSearchKey) {
        search_.begin();
        redisplay();
        return Key::more;
    }
    return give(c);
}

LineEditor::Key LineEditor::give(char c) {
    has_line_ = false;
    const int result = rdline_char_in(editor_.get(), c);
    flush();
    if (has_line_)
        return Key::line;
    return result == RDLINE_RES_EOF ? Key::end : Key::more;
}

bool LineEditor::empty() const {
    return rdline_get_buffer(editor_.get())[0] == '\n';
}

void LineEditor::flush() {
    if (!output_.empty())
        print_(output_);
    output_.clear();
}

int LineEditor::on_char(rdline* editor, char c) {
    self(editor)->output_ += c;
    return 0;
}

void LineEditor::on_line(rdline* editor, const char* text, unsigned) {
    LineEditor& me = *self(editor);
    me.line_ = text;
    me.line_.erase(std::min(me.line_.find('\n'), me.line_.size()));
    me.has_line_ = true;
    const char* last = rdline_get_history_item(editor, 0);
    if (!me.line_.empty() && (last == nullptr || me.line_ != last))
        rdline_add_history(editor, text);
}

int LineEditor::on_complete(rdline* editor, const char* left, char* out, unsigned size, int* state) {
    return self(editor)->complete(left, out, size, *state);
}

int LineEditor::complete(std::string_view left, char* out, unsigned size, int& state) {
    if (state == kFirstTab || state == kFirstHelp) {
        shown_ = ask_(left);
        if (state == kFirstTab) {
            std::string common;
            std::size_t words = 0;
            for (const Grammar::Choice& choice : shown_.choices) {
                if (!choice.insertable)
                    continue;
                if (words++ == 0)
                    common = choice.text;
                const auto [end, _] =
                    std::mismatch(common.begin(), common.end(), choice.text.begin(), choice.text.end());
                common.erase(end, common.end());
            }
            const bool lone = words == 1 && shown_.choices.size() == 1;
            if (lone || (shown_.partial > 0 && words > 0 && common.size() > shown_.partial))
                return put(common.substr(std::min(shown_.partial, common.size())) + (lone ? " " : ""), out,
                           size, kInsert);
        }
        state = 0;
    }
    const auto next = static_cast<std::size_t>(state++);
    if (next < shown_.choices.size())
        return put(choice_line(next), out, size, kShowChoice);
    if (next == 0 && !shown_.wrong.empty())
        return put(shown_.wrong, out, size, kShowChoice);
    return kNothing;
}

std::string LineEditor::choice_line(std::size_t i) const {
    std::size_t width = 0;
    for (const Grammar::Choice& choice : shown_.choices)
        width = std::max(width, observe::display_width(choice.text));
    const Grammar::Choice& choice = shown_.choices[i];
    if (choice.help.empty())
        return choice.text;
    return fmt::format("{:<{}}  {}", choice.text, width, choice.help);
}

}  // namespace spead::app
