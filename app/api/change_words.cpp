// SPDX-License-Identifier: BSD-3-Clause
#include "app/api/change_words.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/prompt/context.hpp"
#include "base/error.hpp"

namespace spead::app {

using Kind = ChangePath::Kind;

namespace {

/// Lists the commands of a session that concern the process, too.
constexpr std::array<std::string_view, 2> kOfSessions{"log level LEVEL", "shutdown"};

bool is_argument(std::string_view word) {
    return !word.empty() && word.front() >= 'A' && word.front() <= 'Z';
}

std::string lower(std::string_view word) {
    std::string out(word);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

/// Adds the word of a command that one word of its syntax stands for.
void add_word(ChangePath& change, std::string_view word) {
    const bool optional = word.starts_with('[');
    while (word.starts_with('['))
        word.remove_prefix(1);
    while (word.ends_with(']') || word.ends_with('.'))
        word.remove_suffix(1);
    const std::string_view name = word.substr(0, word.find('|'));
    if (name == "VALUE")
        return;
    if (name == "KEY") {
        // "KEY VALUE [KEY VALUE]..." are one member, which may not be left out.
        if (change.members.empty() || change.members.back().kind != Kind::settings)
            change.members.push_back({"settings", Kind::settings, !optional});
    } else if (is_argument(name)) {
        change.members.push_back({lower(name), Kind::text, !optional});
    } else if (optional) {
        change.members.push_back({std::string(name), Kind::flag, false});
    } else if (change.members.empty()) {
        change.words.emplace_back(name);
        change.path += "/" + std::string(name);
    } else {
        change.members.push_back({std::string(name), Kind::literal, true});
    }
}

/// Returns a value as the prompt would take it.
std::string text_of(const std::string& name, const nlohmann::json& value) {
    if (value.is_string())
        return value.get<std::string>();
    if (value.is_number() || value.is_boolean())
        return value.dump();
    throw_usage(name, "it is {}, and must be a text, a number, true or false", value.type_name());
}

void check_names(const ChangePath& change, const nlohmann::json& body) {
    std::vector<std::string> known;
    for (const ChangePath::Member& member : change.members)
        if (member.kind != Kind::literal)
            known.push_back(member.name);
    for (const auto& [name, value] : body.items())
        if (std::find(known.begin(), known.end(), name) == known.end())
            throw_usage(
                name, "{} has no such member; {}", change.path,
                known.empty() ? "send {}" : fmt::format("its members are {}", fmt::join(known, ", ")));
}

}  // namespace

ChangePath change_path(const PromptCommand& command) {
    ChangePath change{
        .path = "/api/v1", .syntax = command.syntax, .help = command.help, .words = {}, .members = {}};
    for (const std::string& word : split(command.syntax))
        add_word(change, word);
    return change;
}

std::vector<ChangePath> change_paths() {
    std::vector<PromptCommand> commands;
    add_session_commands(commands);
    std::erase_if(commands, [](const PromptCommand& command) {
        return std::find(kOfSessions.begin(), kOfSessions.end(), command.syntax) == kOfSessions.end();
    });
    add_change_commands(commands);
    add_run_commands(commands);
    std::vector<ChangePath> paths;
    paths.reserve(commands.size());
    for (const PromptCommand& command : commands)
        paths.push_back(change_path(command));
    return paths;
}

std::vector<std::string> words_of(const ChangePath& change, const nlohmann::json& body) {
    check_names(change, body);
    std::vector<std::string> words = change.words;
    for (const ChangePath::Member& member : change.members) {
        const auto found = body.find(member.name);
        const bool given = member.kind != Kind::literal && found != body.end();
        if (member.kind == Kind::literal) {
            words.push_back(member.name);
        } else if (!given) {
            if (member.required)
                throw_usage(member.name, "it is missing; {} needs it, as the prompt's `{}`", change.path,
                            change.syntax);
        } else if (member.kind == Kind::flag) {
            if (!found->is_boolean())
                throw_usage(member.name, "it is {}, and must be true or false", found->type_name());
            if (found->get<bool>())
                words.push_back(member.name);
        } else if (member.kind == Kind::settings) {
            if (!found->is_object() || (found->empty() && member.required))
                throw_usage(member.name, "it must be an object of keys and values: {{\"poll\": \"busy\"}}");
            for (const auto& [key, value] : found->items()) {
                words.push_back(key);
                words.push_back(text_of(key, value));
            }
        } else {
            words.push_back(text_of(member.name, *found));
        }
    }
    return words;
}

}  // namespace spead::app
