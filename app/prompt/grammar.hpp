// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What may be typed at the prompt. Pure: no terminal, no running process.
namespace spead::app {

struct Context;

/// Names that arguments may have at this moment.
struct Vocabulary {
    std::vector<std::string> ports;
    std::vector<std::string> streams;
    std::vector<std::string> sends;
    std::vector<std::string> lcores;
    std::vector<std::string> captured;  ///< the streams, and those of which there was a capture
};

/// What PACKETS may be.
inline constexpr std::uint32_t kMostPackets = 4096;

/// What was typed, understood.
struct Call {
    /// By the argument's name in the syntax: "STREAM" -> "s0"; words as such by themselves. What was left out
    /// is not there.
    std::map<std::string, std::string, std::less<>> values;
    /// Of [KEY VALUE]...
    std::vector<std::pair<std::string, std::string>> settings;
    /// Of COMMAND...
    std::vector<std::string> rest;

    bool has(std::string_view name) const { return values.contains(name); }
    /// The argument's text; `otherwise` when it was left out.
    std::string value(std::string_view name, std::string_view otherwise = {}) const {
        const auto found = values.find(name);
        return found == values.end() ? std::string(otherwise) : found->second;
    }
};

struct PromptCommand {
    /// One line: words as typed, "a|b" for a choice of them, arguments in capitals with their kind's name
    /// (PORT, STREAM, SEND, LCORE, CAPTURED, NAME, ENDPOINTS, FILE, PACKETS, SECONDS, LEVEL,
    /// COMMAND...), "[...]" at
    /// the end for what may be left out, "[KEY VALUE]..." for settings. A literal beside an argument
    /// ("[STREAM|all]") is a value of that argument.
    std::string syntax;
    std::string help;     ///< one line
    std::string details;  ///< lines for `help COMMAND`; may be empty
    std::function<void(Context&, const Call&)> handler;
};

/// The table of commands.
class Grammar {
  public:
    /// Throws Error when a syntax cannot be read.
    explicit Grammar(std::vector<PromptCommand> commands);

    struct Found {
        const PromptCommand* command;
        Call call;
    };
    /// Throws UsageError that says which word is wrong, or what is missing, and what may stand there; Error
    /// for a name that the process does not have.
    Found understand(const std::vector<std::string>& words, const Vocabulary& vocabulary) const;

    struct Choice {
        std::string text;         ///< a word, an argument's name in angle brackets, or "<return>"
        std::string help;         ///< one line
        bool insertable = false;  ///< `text` is a word that may stand there as it is
    };
    /// What may follow `words`, as far as it begins with `partial`. Empty: `words` are wrong already.
    std::vector<Choice> complete(const std::vector<std::string>& words, std::string_view partial,
                                 const Vocabulary& vocabulary) const;

    /// The commands that begin with these words, one line each; of a single one all there is to say. Throws
    /// UsageError when there is none.
    std::string help(const std::vector<std::string>& words) const;

    const std::vector<PromptCommand>& commands() const { return commands_; }

  private:
    enum class Kind : std::uint8_t {
        word,
        port,
        stream,
        send,
        lcore,
        name,
        endpoints,
        stream_key,
        send_key,
        value,
        file,
        number,
        seconds,
        level,
        captured,
        port_or_stream_or_send,
        command,
    };
    /// One place of a command.
    struct Place {
        std::vector<std::string> words;  ///< literals that may stand there
        Kind kind = Kind::word;
        std::string name;  ///< of the argument
    };
    struct Pattern {
        std::vector<Place> fixed;
        std::vector<Place> tail;  ///< may be left out
        bool repeated = false;    ///< the tail, any number of times

        const Place* place(std::size_t i) const;
        bool complete(std::size_t words) const;
    };
    struct KindName {
        std::string_view name;
        Kind kind;
        std::string_view help;
    };
    static const std::vector<KindName>& kinds();
    static Pattern read(const std::string& syntax);
    static Place read_place(const std::string& word, bool of_sends);

    std::vector<std::size_t> alive(const std::vector<std::string>& words, std::size_t count) const;
    [[noreturn]] void refuse(const std::vector<std::string>& words, std::size_t at) const;
    [[noreturn]] void too_short(const std::vector<std::string>& words,
                                const std::vector<std::size_t>& candidates) const;
    static void check(const Place& place, const std::string& word, const Vocabulary& vocabulary);
    static const std::vector<std::string>* names(Kind kind, const Vocabulary& vocabulary);
    void add_choices(std::vector<Choice>& choices, std::size_t command, const std::vector<std::string>& words,
                     const Vocabulary& vocabulary) const;
    std::string help_of_word(const std::vector<std::string>& words, const std::string& word) const;

    std::vector<PromptCommand> commands_;
    std::vector<Pattern> patterns_;  ///< as commands_
};

}  // namespace spead::app
