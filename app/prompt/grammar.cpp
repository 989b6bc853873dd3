// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/grammar.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/prompt/words.hpp"
#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/units.hpp"
#include "config/edit.hpp"
#include "config/keys.hpp"
#include "observe/table.hpp"

namespace spead::app {

namespace {

/// Returns the words before `count` as they were typed.
std::string typed(const std::vector<std::string>& words, std::size_t count) {
    std::vector<std::string> quoted;
    for (std::size_t i = 0; i < count; i++)
        quoted.push_back(quoted_word(words[i]));
    return fmt::format("{}", fmt::join(quoted, " "));
}

bool is_argument(std::string_view word) {
    return !word.empty() && std::isupper(static_cast<unsigned char>(word.front())) != 0;
}

std::vector<std::string_view> views(const std::vector<std::string>& words) {
    return {words.begin(), words.end()};
}

void add_once(std::vector<std::string>& list, const std::string& word) {
    if (std::find(list.begin(), list.end(), word) == list.end())
        list.push_back(word);
}

}  // namespace

const std::vector<Grammar::KindName>& Grammar::kinds() {
    static const std::vector<KindName> all{
        {"PORT", Kind::port, "a port"},
        {"STREAM", Kind::stream, "a stream"},
        {"SEND", Kind::send, "a sender"},
        {"LCORE", Kind::lcore, "an lcore"},
        {"NAME", Kind::name, "a name: letters, digits, _, - or ."},
        {"ENDPOINTS", Kind::endpoints, "ADDRESS[+N]:PORT[@SOURCE], several with commas between"},
        {"KEY", Kind::stream_key, "a key of the configuration file"},
        {"VALUE", Kind::value, "its value as in the file, without quotes; `default` removes it"},
        {"FILE", Kind::file, "a file, relative to the client's working directory"},
        {"PACKETS", Kind::number, "a whole number, 1 to 4096"},
        {"SECONDS", Kind::seconds, "a time: 1, 250ms, 2min"},
        {"LEVEL", Kind::level, "error, warning, notice, info, debug, or PATTERN:LEVEL"},
        {"CAPTURED", Kind::captured, "a stream with a capture, running or ended"},
        {"PART", Kind::port_or_stream_or_send, "a port, stream or sender"},
        {"COMMAND...", Kind::command, "a command"},
    };
    return all;
}

const Grammar::Place* Grammar::Pattern::place(std::size_t i) const {
    if (i < fixed.size())
        return &fixed[i];
    if (!fixed.empty() && fixed.back().kind == Kind::command)
        return &fixed.back();
    i -= fixed.size();
    if (tail.empty())
        return nullptr;
    if (tail.back().kind == Kind::command)
        return &tail[std::min(i, tail.size() - 1)];
    if (repeated)
        return &tail[i % tail.size()];
    return i < tail.size() ? &tail[i] : nullptr;
}

bool Grammar::Pattern::complete(std::size_t words) const {
    if (words < fixed.size())
        return false;
    if (tail.empty() || tail.back().kind == Kind::command)
        return true;
    return repeated ? (words - fixed.size()) % tail.size() == 0
                    : words == fixed.size() || words - fixed.size() == tail.size();
}

Grammar::Place Grammar::read_place(const std::string& word, bool of_sends) {
    Place place;
    for (std::size_t at = 0; at <= word.size();) {
        const std::size_t end = std::min(word.find('|', at), word.size());
        const std::string one = word.substr(at, end - at);
        at = end + 1;
        if (!is_argument(one)) {
            place.words.push_back(one);
            continue;
        }
        const auto found =
            std::find_if(kinds().begin(), kinds().end(), [&](const KindName& k) { return k.name == one; });
        if (found == kinds().end())
            throw_error("grammar", "{} is not a kind of argument", one);
        place.kind = found->kind == Kind::stream_key && of_sends ? Kind::send_key : found->kind;
        place.name = one;
    }
    return place;
}

Grammar::Pattern Grammar::read(const std::string& syntax) {
    Pattern pattern;
    const bool of_sends = syntax.starts_with("send");
    std::vector<Place>* places = &pattern.fixed;
    for (std::string word : split_words(syntax).words) {
        if (word.starts_with('[')) {
            places = &pattern.tail;
            word.erase(0, 1);
        }
        if (word.ends_with("]...")) {
            pattern.repeated = true;
            word.resize(word.size() - 4);
        } else if (word.ends_with(']')) {
            word.pop_back();
        }
        places->push_back(read_place(word, of_sends));
    }
    if (pattern.fixed.empty())
        throw_error("grammar", "`{}` has no word", syntax);
    return pattern;
}

Grammar::Grammar(std::vector<PromptCommand> commands) : commands_(std::move(commands)) {
    for (const PromptCommand& command : commands_)
        patterns_.push_back(read(command.syntax));
}

/// Returns commands whose first `count` places take the words. If a word is a literal of one, commands with
/// an argument there do not count.
std::vector<std::size_t> Grammar::alive(const std::vector<std::string>& words, std::size_t count) const {
    std::vector<std::size_t> candidates;
    for (std::size_t c = 0; c < commands_.size(); c++)
        candidates.push_back(c);
    for (std::size_t i = 0; i < count; i++) {
        std::vector<std::size_t> by_word;
        std::vector<std::size_t> by_argument;
        for (const std::size_t c : candidates) {
            const Place* place = patterns_[c].place(i);
            if (place == nullptr)
                continue;
            if (std::find(place->words.begin(), place->words.end(), words[i]) != place->words.end())
                by_word.push_back(c);
            else if (place->kind != Kind::word)
                by_argument.push_back(c);
        }
        candidates = by_word.empty() ? by_argument : by_word;
    }
    return candidates;
}

void Grammar::refuse(const std::vector<std::string>& words, std::size_t at) const {
    std::vector<std::string> expected;
    const PromptCommand* only = nullptr;
    const std::vector<std::size_t> candidates = alive(words, at);
    for (const std::size_t c : candidates) {
        if (const Place* place = patterns_[c].place(at))
            for (const std::string& word : place->words)
                add_once(expected, word);
        only = candidates.size() == 1 ? &commands_[c] : nullptr;
    }
    if (at == 0)
        throw_usage("", "`{}` is not a command{}; `help` lists them", words[0],
                    hint(words[0], views(expected)));
    if (expected.empty())
        throw_usage("", "`{}` is an extra word: {}", words[at],
                    only != nullptr ? "the command is " + only->syntax
                                    : fmt::format("nothing follows `{}`", typed(words, at)));
    const auto known = views(expected);
    throw_usage("", "`{}` cannot follow `{}`{}; {} can", words[at], typed(words, at), hint(words[at], known),
                list_of(known));
}

void Grammar::too_short(const std::vector<std::string>& words,
                        const std::vector<std::size_t>& candidates) const {
    std::vector<std::string> expected;
    for (const std::size_t c : candidates) {
        const Place* place = patterns_[c].place(words.size());
        for (const std::string& word : place->words)
            add_once(expected, word);
        if (place->kind != Kind::word)
            add_once(expected, place->name);
    }
    const std::string what = list_of(views(expected));
    if (candidates.size() == 1)
        throw_usage("", "{} is missing after `{}`; the command is {}", what, typed(words, words.size()),
                    commands_[candidates.front()].syntax);
    throw_usage("", "`{}` is not all of a command; {} may follow", typed(words, words.size()), what);
}

const std::vector<std::string>* Grammar::names(Kind kind, const Vocabulary& vocabulary) {
    switch (kind) {
        case Kind::port:
            return &vocabulary.ports;
        case Kind::stream:
            return &vocabulary.streams;
        case Kind::send:
            return &vocabulary.sends;
        case Kind::lcore:
            return &vocabulary.lcores;
        case Kind::captured:
            return &vocabulary.captured;
        default:
            return nullptr;
    }
}

void Grammar::check(const Place& place, const std::string& word, const Vocabulary& vocabulary) {
    if (std::find(place.words.begin(), place.words.end(), word) != place.words.end())
        return;
    const auto one_of = [&](std::string_view noun, const std::vector<std::string>& known) {
        if (std::find(known.begin(), known.end(), word) != known.end())
            return;
        if (known.empty())
            throw_error("", "there is no {} `{}`: none is configured", noun, word);
        throw_error("", "there is no {} `{}`{}; there {} {}", noun, word, hint(word, views(known)),
                    known.size() == 1 ? "is" : "are", list_of(views(known)));
    };
    switch (place.kind) {
        case Kind::port:
            return one_of("port", vocabulary.ports);
        case Kind::stream:
            return one_of("stream", vocabulary.streams);
        case Kind::send:
            return one_of("sender", vocabulary.sends);
        case Kind::lcore:
            return one_of("lcore", vocabulary.lcores);
        case Kind::captured:
            return one_of("stream", vocabulary.captured);
        case Kind::port_or_stream_or_send: {
            std::vector<std::string> all;
            for (const auto* list : {&vocabulary.ports, &vocabulary.streams, &vocabulary.sends})
                for (const std::string& name : *list)
                    add_once(all, name);
            return one_of("port, stream or sender", all);
        }
        case Kind::endpoints:
            for (std::size_t at = 0; at <= word.size();) {
                const std::size_t end = std::min(word.find(',', at), word.size());
                parse_endpoints(std::string_view(word).substr(at, end - at));
                at = end + 1;
            }
            return;
        case Kind::stream_key:
            return config::check_stream_key(word);
        case Kind::send_key:
            return config::check_send_key(word);
        case Kind::number:
            parse_integer(word, 1, kMostPackets, "");
            return;
        case Kind::seconds:
            if (parse_duration(word) <= 0)
                throw_usage("", "`{}` is not a time to wait; give more than 0, as in 250ms or 1", word);
            return;
        default:
            return;
    }
}

Grammar::Found Grammar::understand(const std::vector<std::string>& words,
                                   const Vocabulary& vocabulary) const {
    std::vector<std::size_t> candidates = alive(words, 0);
    for (std::size_t i = 0; i < words.size(); i++) {
        std::vector<std::size_t> next = alive(words, i + 1);
        if (next.empty())
            refuse(words, i);
        candidates = std::move(next);
    }
    const auto whole = std::find_if(candidates.begin(), candidates.end(),
                                    [&](std::size_t c) { return patterns_[c].complete(words.size()); });
    // A wrong name is reported before missing words behind it.
    const std::size_t chosen = whole != candidates.end() ? *whole : candidates.front();
    Found found{&commands_[chosen], {}};
    for (std::size_t i = 0; i < words.size(); i++) {
        const Place& place = *patterns_[chosen].place(i);
        if (place.kind == Kind::word) {
            found.call.values[words[i]] = words[i];
            continue;
        }
        if (candidates.size() == 1 || whole != candidates.end())
            check(place, words[i], vocabulary);
        if (place.kind == Kind::command)
            found.call.rest.push_back(words[i]);
        else if (place.kind == Kind::stream_key || place.kind == Kind::send_key)
            found.call.settings.emplace_back(words[i], "");
        else if (place.kind == Kind::value)
            found.call.settings.back().second = words[i];
        else
            found.call.values[place.name] = words[i];
    }
    if (whole == candidates.end())
        too_short(words, candidates);
    return found;
}

std::string Grammar::help_of_word(const std::vector<std::string>& words, const std::string& word) const {
    std::vector<std::string> longer = words;
    longer.push_back(word);
    const std::vector<std::size_t> candidates = alive(longer, longer.size());
    if (candidates.size() == 1)
        return commands_[candidates.front()].help;
    std::vector<std::string> next;
    for (const std::size_t c : candidates)
        if (const Place* place = patterns_[c].place(longer.size()))
            for (const std::string& one : place->words)
                add_once(next, one);
    constexpr std::size_t kShown = 5;
    const bool cut = next.size() > kShown;
    next.resize(std::min(next.size(), kShown));
    return fmt::format("{}{}", fmt::join(next, ", "), cut ? ", ..." : "");
}

void Grammar::add_choices(std::vector<Choice>& choices, std::size_t command,
                          const std::vector<std::string>& words, const Vocabulary& vocabulary) const {
    const Pattern& pattern = patterns_[command];
    const auto add = [&](std::string text, std::string help, bool insertable) {
        if (std::none_of(choices.begin(), choices.end(), [&](const Choice& c) { return c.text == text; }))
            choices.push_back({std::move(text), std::move(help), insertable});
    };
    if (pattern.complete(words.size()))
        add("<return>", commands_[command].help, false);
    const Place* place = pattern.place(words.size());
    if (place == nullptr)
        return;
    for (const std::string& word : place->words)
        add(word, place->kind == Kind::word ? help_of_word(words, word) : fmt::format("every one"), true);
    if (place->kind == Kind::word)
        return;
    const auto kind = std::find_if(kinds().begin(), kinds().end(),
                                   [&](const KindName& k) { return k.name == place->name; });
    const auto add_all = [&](const std::vector<std::string>& list, std::string_view help) {
        for (const std::string& name : list)
            add(name, std::string(help), true);
    };
    if (place->kind == Kind::value) {
        const std::string& word = words.back();
        // The key's kind stands in the place before.
        const bool of_sends = pattern.place(words.size() - 1)->kind == Kind::send_key;
        if (const config::Key* key = config::find_key(of_sends ? "send" : "receive", word)) {
            for (const std::string_view choice : config::choices(*key))
                add(std::string(choice), fmt::format("{} {}", word, choice), true);
            if (word == "port")
                add_all(vocabulary.ports, "a port");
            add("<VALUE>", fmt::format("{}; `default` removes it", config::accepted(*key)), false);
            return;
        }
    } else if (place->kind == Kind::stream_key || place->kind == Kind::send_key) {
        const std::string_view root = place->kind == Kind::stream_key ? "receive" : "send";
        for (const std::string& key : config::key_paths(root))
            add(key, std::string(config::find_key(root, key)->help), true);
        return;
    } else if (place->kind == Kind::level) {
        add_all({"error", "warning", "notice", "info", "debug"}, "");
    } else if (place->kind == Kind::port_or_stream_or_send) {
        add_all(vocabulary.ports, "a port");
        add_all(vocabulary.streams, "a stream");
        add_all(vocabulary.sends, "a sender");
        return;
    } else if (const auto* list = names(place->kind, vocabulary)) {
        add_all(*list, kind->help);
        return;
    }
    add(fmt::format("<{}>", place->name), std::string(kind->help), false);
}

std::vector<Grammar::Choice> Grammar::complete(const std::vector<std::string>& words,
                                               std::string_view partial, const Vocabulary& vocabulary) const {
    std::vector<Choice> choices;
    for (const std::size_t c : alive(words, words.size())) {
        const Pattern& pattern = patterns_[c];
        // COMMAND...: the rest may be whatever that command takes.
        std::size_t inner = 0;
        while (inner < words.size() && pattern.place(inner) != nullptr &&
               pattern.place(inner)->kind != Kind::command)
            inner++;
        if (const Place* place = pattern.place(inner);
            inner <= words.size() && place != nullptr && place->kind == Kind::command) {
            const std::vector<std::string> of_inner(words.begin() + static_cast<std::ptrdiff_t>(inner),
                                                    words.end());
            if (of_inner.empty() && pattern.complete(words.size()))
                choices.push_back({"<return>", commands_[c].help, false});
            for (Choice& choice : complete(of_inner, partial, vocabulary))
                choices.push_back(std::move(choice));
        } else {
            add_choices(choices, c, words, vocabulary);
        }
    }
    if (!partial.empty()) {
        const bool any_word = std::any_of(choices.begin(), choices.end(), [&](const Choice& c) {
            return c.insertable && c.text.starts_with(partial);
        });
        std::erase_if(choices, [&](const Choice& c) {
            return c.insertable ? !c.text.starts_with(partial) : any_word || c.text == "<return>";
        });
    }
    return choices;
}

std::string Grammar::help(const std::vector<std::string>& words) const {
    std::vector<std::size_t> candidates;
    for (std::size_t c = 0; c < commands_.size(); c++) {
        bool matches = true;
        for (std::size_t i = 0; i < words.size() && matches; i++) {
            const Place* place = patterns_[c].place(i);
            matches = place != nullptr &&
                      std::find(place->words.begin(), place->words.end(), words[i]) != place->words.end();
        }
        if (matches)
            candidates.push_back(c);
    }
    if (candidates.empty()) {
        std::vector<std::string> first;
        for (const Pattern& pattern : patterns_)
            add_once(first, pattern.fixed.front().words.front());
        throw_usage("", "no command begins with `{}`{}; `help` lists them", typed(words, words.size()),
                    hint(words.front(), views(first)));
    }
    if (candidates.size() == 1) {
        const PromptCommand& command = commands_[candidates.front()];
        return fmt::format("{}\n    {}\n{}", command.syntax, command.help,
                           command.details.empty() ? "" : command.details + "\n");
    }
    std::size_t width = 0;
    for (const std::size_t c : candidates)
        width = std::max(width, observe::display_width(commands_[c].syntax));
    width = std::min<std::size_t>(width, 46);
    std::string text;
    for (const std::size_t c : candidates)
        text += fmt::format("{:<{}}  {}\n", commands_[c].syntax, width, commands_[c].help);
    return text;
}

}  // namespace spead::app
