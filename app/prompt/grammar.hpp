// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Defines the commands of the prompt. Pure: no terminal, no running process.
namespace spead::app {

struct Context;

/// Holds the present names for arguments.
struct Vocabulary {
    std::vector<std::string> ports;
    std::vector<std::string> streams;
    std::vector<std::string> sends;
    std::vector<std::string> lcores;
    std::vector<std::string> captured;  ///< the streams with a present or past capture
};

/// Limits PACKETS.
inline constexpr std::uint32_t kMostPackets = 4096;

/// Holds a parsed command.
struct Call {
    /// Holds values by the argument's name in the syntax: "STREAM" -> "s0"; literals by themselves. Omitted
    /// arguments are absent.
    std::map<std::string, std::string, std::less<>> values;
    /// Holds [KEY VALUE]...
    std::vector<std::pair<std::string, std::string>> settings;
    /// Holds COMMAND...
    std::vector<std::string> rest;

    bool has(std::string_view name) const { return values.contains(name); }
    /// Returns the argument's text; `otherwise` when it was omitted.
    std::string value(std::string_view name, std::string_view otherwise = {}) const {
        const auto found = values.find(name);
        return found == values.end() ? std::string(otherwise) : found->second;
    }
};

struct PromptCommand {
    /// Holds one line: literals, "a|b" for a choice of them, arguments in capitals with their kind's name
    /// (PORT, STREAM, SEND, LCORE, CAPTURED, NAME, ENDPOINTS, FILE, PACKETS, SECONDS, LEVEL, COMMAND...),
    /// "[...]" at the end for optional words, "[KEY VALUE]..." for settings. A literal beside an argument
    /// ("[STREAM|all]") is a value of that argument.
    std::string syntax;
    std::string help;     ///< one line
    std::string details;  ///< lines for `help COMMAND`; may be empty
    std::function<void(Context&, const Call&)> handler;
};

/// Holds the table of commands.
class Grammar {
  public:
    /// Takes the commands. Throws Error when a syntax cannot be read.
    explicit Grammar(std::vector<PromptCommand> commands);

    struct Found {
        const PromptCommand* command;
        Call call;
    };
    /// Parses the words. Throws UsageError that names the wrong word, or the missing one, and the possible
    /// ones; Error for a name that the process does not have.
    Found understand(const std::vector<std::string>& words, const Vocabulary& vocabulary) const;

    struct Choice {
        std::string text;         ///< a word, an argument's name in angle brackets, or "<return>"
        std::string help;         ///< one line
        bool insertable = false;  ///< `text` can be inserted as it is
    };
    /// Returns the possible words after `words` that begin with `partial`. Empty: `words` are wrong already.
    std::vector<Choice> complete(const std::vector<std::string>& words, std::string_view partial,
                                 const Vocabulary& vocabulary) const;

    /// Returns the commands that begin with these words, one line each; the full text of a single one. Throws
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
    /// Describes one place of a command.
    struct Place {
        std::vector<std::string> words;  ///< possible literals
        Kind kind = Kind::word;
        std::string name;  ///< of the argument
    };
    struct Pattern {
        std::vector<Place> fixed;
        std::vector<Place> tail;  ///< optional
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
    std::vector<Pattern> patterns_;  ///< in the order of commands_
};

}  // namespace spead::app
