// SPDX-License-Identifier: BSD-3-Clause
// Lines at the prompt of a running process: words that the grammar proposes, words of any bytes, and any
// keys. A proposed word may be typed, an understood line can be completed, and a refusal is a sentence. The
// plan stays valid after every command.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "app/prompt/context.hpp"
#include "app/prompt/line_editor.hpp"
#include "app/prompt/words.hpp"
#include "base/error.hpp"
#include "config/config.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/refusal.hpp"
#include "tests/unit/app/prompt/fake_process.hpp"

namespace {

using namespace spead;
using namespace spead::app;
using fuzz::Choices;
using fuzz::Input;
using fuzz::require;

constexpr int kMostLines = 8;
constexpr std::size_t kMostWords = 12;
/// Limits an answer to one line; tables of the fake process are far below.
constexpr std::size_t kMostPrinted = 1 << 20;
constexpr std::array<const char*, 12> kValues{
    "239.1.2.0+3:7148", "s0", "d0", "p0", "1", "4KiB", "off", "auto", "100ms", "default", "10.0.0.5:1", ""};
/// Lists the commands that neither write files nor wait.
constexpr std::array<const char*, 11> kCarriedOut{"show",  "stream", "endpoint", "send",  "port", "flow",
                                                  "clear", "help",   "log",      "dummy", "quit"};

const Grammar& grammar() {
    static const Grammar all(prompt_commands());
    return all;
}

/// Characters that the line editor takes as they are: `?` asks for help.
bool is_plain(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '?'; });
}

class Typing {
  public:
    explicit Typing(Choices& choices) : choices_(choices) {
        session_.print = [this](std::string_view text) { printed_ += text.size(); };
    }

    void run() {
        for (int i = 0; i < kMostLines && !choices_.empty(); i++) {
            if (choices_.byte() < 16) {
                type_keys();
            } else {
                const std::vector<std::string> words = any_words();
                check_words(words);
                check_completion(words);
                const std::string line = line_of(words);
                check_editor(line);
                carry_out_line(line, words);
            }
        }
    }

  private:
    static std::string line_of(const std::vector<std::string>& words) {
        std::string line;
        for (const std::string& word : words) {
            if (!line.empty())
                line += ' ';
            line += quoted_word(word);
        }
        return line;
    }

    std::vector<std::string> any_words() {
        std::vector<std::string> words;
        while (words.size() < kMostWords && !choices_.empty()) {
            const std::size_t which = choices_.byte();
            if (which < 8) {
                break;
            }
            if (which < 40) {
                words.push_back(choices_.text(which - 8));
            } else if (which < 64) {
                words.emplace_back(kValues[which % kValues.size()]);
            } else {
                const auto proposed = grammar().complete(words, {}, vocabulary_of(process_));
                const auto usable = std::ranges::count_if(proposed, &Grammar::Choice::insertable);
                if (usable == 0) {
                    words.emplace_back(kValues[which % kValues.size()]);
                    continue;
                }
                auto at = static_cast<std::ptrdiff_t>(which) % usable;
                for (const Grammar::Choice& choice : proposed) {
                    if (choice.insertable && at-- == 0) {
                        words.push_back(choice.text);
                        break;
                    }
                }
            }
        }
        return words;
    }

    static void check_words(const std::vector<std::string>& words) {
        const Words again = split_words(line_of(words));
        require(again.words == words && !again.in_quotes, "words survive being typed");
    }

    void check_completion(const std::vector<std::string>& words) {
        const Vocabulary vocabulary = vocabulary_of(process_);
        const auto choices = grammar().complete(words, {}, vocabulary);
        const bool whole = std::ranges::any_of(choices, [](const auto& c) { return c.text == "<return>"; });
        bool understood_whole = false;
        try {
            // The words for COMMAND... are understood by its handler.
            understood_whole = grammar().understand(words, vocabulary).call.rest.empty();
        } catch (const Error& error) {
            fuzz::require_sentence(error.what());
        }
        require(whole || !understood_whole || words.empty(), "what is understood is said to be all",
                line_of(words));
        for (const Grammar::Choice& choice : choices) {
            if (!choice.insertable) {
                continue;
            }
            std::vector<std::string> longer = words;
            longer.push_back(choice.text);
            const std::string refusal = refusal_of(longer, vocabulary);
            for (const char* const wrong : {"` cannot follow", "` is an extra word", "` is not a command"}) {
                require(!refusal.starts_with("`" + choice.text + wrong), "what is proposed may be typed",
                        line_of(longer));
            }
            const std::string_view part = std::string_view(choice.text).substr(0, 1);
            for (const Grammar::Choice& other : grammar().complete(words, part, vocabulary)) {
                require(!other.insertable || other.text.starts_with(part),
                        "proposals begin with what was typed");
            }
        }
        try {
            require(!grammar().help(words).empty(), "help says something");
        } catch (const Error& error) {
            fuzz::require_sentence(error.what());
        }
    }
    static std::string refusal_of(const std::vector<std::string>& words, const Vocabulary& vocabulary) {
        try {
            grammar().understand(words, vocabulary);
            return {};
        } catch (const Error& error) {
            return error.what();
        }
    }

    void check_editor(const std::string& line) {
        if (!is_plain(line) || line.size() + 2 > LineEditor::kLongestLine) {
            return;
        }
        editor_.begin();
        for (const char c : line) {
            require(editor_.feed(c) == LineEditor::Key::more, "a line goes on until its end");
        }
        require(editor_.feed('\n') == LineEditor::Key::line && editor_.line() == line,
                "what is typed is the line", line);
    }
    void type_keys() {
        editor_.begin();
        for (const std::uint8_t key : choices_.bytes(choices_.byte())) {
            if (editor_.feed(static_cast<char>(key)) != LineEditor::Key::more) {
                editor_.begin();
            }
            require(editor_.line().size() <= LineEditor::kLongestLine, "a line is bounded");
        }
        editor_.interrupt("told\n");
        // The line that was being typed does not become part of the next one.
        for (const char c : {'\x01', '\x0b', '\n'}) {
            editor_.feed(c);
        }
        check_printed();
    }

    void carry_out_line(const std::string& line, const std::vector<std::string>& words) {
        if (words.empty() || std::ranges::find(kCarriedOut, words.front()) == kCarriedOut.end()) {
            return;
        }
        Context context{process_, grammar(), session_};
        try {
            carry_out(context, line);
        } catch (const Error& error) {
            fuzz::require_sentence(error.what());
        }
        try {
            config::validate(process_.plan_);
        } catch (const Error&) {
            require(false, "the plan is valid after every command");
        }
        check_printed();
    }
    void check_printed() {
        require(printed_ <= kMostPrinted, "answers are bounded");
        printed_ = 0;
    }

    LineEditor::Completion completion(std::string_view left) {
        LineEditor::Completion result;
        Words typed = split_words(left);
        std::string partial;
        if (typed.last_is_open) {
            partial = typed.words.back();
            typed.words.pop_back();
        }
        result.partial = partial.size();
        result.choices = grammar().complete(typed.words, partial, vocabulary_of(process_));
        return result;
    }

    Choices& choices_;
    test::FakeProcess process_;
    PromptSession session_;
    std::size_t printed_ = 0;
    LineEditor editor_{"> ", [this](std::string_view left) { return completion(left); },
                       [this](std::string_view text) { printed_ += text.size(); }};
};

}  // namespace

std::vector<Input> fuzz::seeds() {
    std::vector<Input> inputs;
    const auto add = [&inputs](const std::vector<std::string>& words) {
        Input input = {255};
        for (const std::string& word : words) {
            input.push_back(static_cast<std::uint8_t>(8 + word.size()));
            input.insert(input.end(), word.begin(), word.end());
        }
        inputs.push_back(input);
    };
    for (const PromptCommand& command : grammar().commands()) {
        // The syntax itself is a line of words, if not one that means anything.
        add(split_words(command.syntax).words);
    }
    add({"stream", "add", "s1", "port", "p0", "endpoints", "239.1.3.0+3:7148", "poll", "busy"});
    add({"stream", "set", "s0", "heaps.queue_depth", "128"});
    add({"endpoint", "add", "s0", "239.1.2.0+3:7148"});
    add({"send", "set", "d0", "rate", "1Gbps"});
    add({"watch", "1", "watch", "1", "help", "show", "stream"});
    add({"show", "config", "\"quoted \\ text\"", "#"});
    for (std::uint8_t first = 64; first < 224; first = static_cast<std::uint8_t>(first + 5)) {
        inputs.push_back(
            {255, first, static_cast<std::uint8_t>(first + 1), static_cast<std::uint8_t>(first + 2), 0});
    }
    Input keys = {0, 60};
    for (const char c : std::string_view(
             "sho\tstr\t?\x01\x05\x17\x15show\x1b[A\x1b[B\x1b[D\x7f\x08\x0e\x10\x0c\x03\x04\n")) {
        keys.push_back(static_cast<std::uint8_t>(c));
    }
    inputs.push_back(keys);
    return inputs;
}

/// Reads each line: a byte that says whether it is keys or words; words as any_words() reads them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Choices choices({data, size});
    Typing(choices).run();
    return 0;
}
