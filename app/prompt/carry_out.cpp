// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "app/prompt/context.hpp"
#include "app/prompt/words.hpp"
#include "base/error.hpp"

namespace spead::app {

Vocabulary vocabulary_of(Process& process) {
    const runtime::Plan plan = process.known_plan();
    Vocabulary vocabulary;
    for (const runtime::PortPlan& p : plan.ports)
        vocabulary.ports.push_back(p.name);
    for (const runtime::ReceivePlan& r : plan.receives)
        vocabulary.streams.push_back(r.name);
    for (const runtime::SendPlan& s : plan.sends)
        vocabulary.sends.push_back(s.name);
    const auto recent = process.recent();
    const stats::Snapshot now = recent ? *recent : process.seen().snapshot;
    for (const stats::LcoreSnapshot& lcore : now.lcores)
        vocabulary.lcores.push_back(fmt::format("{}", lcore.lcore));
    vocabulary.captured = vocabulary.streams;
    for (const stats::CaptureSnapshot& c : now.captures)
        if (std::find(vocabulary.captured.begin(), vocabulary.captured.end(), c.stream) ==
            vocabulary.captured.end())
            vocabulary.captured.push_back(c.stream);
    return vocabulary;
}

namespace {

/// Asks for names only for commands with names: so a user can leave even while the process is too busy to
/// answer.
Grammar::Found understood(Context& context, const std::vector<std::string>& words) {
    try {
        return context.grammar.understand(words, {});
    } catch (const Error&) {
        return context.grammar.understand(words, vocabulary_of(context.process));
    }
}

}  // namespace

bool carry_out(Context& context, std::string_view line) {
    const Words words = split_words(line);
    if (words.in_quotes)
        throw_usage("", "a quote is not closed; write a word \"like this\"");
    if (words.words.empty())
        return false;
    carry_out(context, words.words);
    return true;
}

void carry_out(Context& context, const std::vector<std::string>& words) {
    const Grammar::Found found = understood(context, words);
    found.command->handler(context, found.call);
}

std::vector<PromptCommand> prompt_commands() {
    std::vector<PromptCommand> commands;
    add_show_commands(commands);
    add_change_commands(commands);
    add_run_commands(commands);
    add_session_commands(commands);
    return commands;
}

}  // namespace spead::app
