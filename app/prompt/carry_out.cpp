// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/context.hpp"
#include "app/prompt/words.hpp"
#include "base/error.hpp"

namespace spead::app {

Vocabulary vocabulary_of(Process& process) {
    const runtime::Plan plan = process.plan();
    Vocabulary vocabulary;
    for (const runtime::PortPlan& p : plan.ports)
        vocabulary.ports.push_back(p.name);
    for (const runtime::ReceivePlan& r : plan.receives)
        vocabulary.streams.push_back(r.name);
    for (const runtime::SendPlan& s : plan.sends)
        vocabulary.sends.push_back(s.name);
    const auto recent = process.recent();
    for (const stats::LcoreSnapshot& lcore : (recent ? *recent : process.snapshot()).lcores)
        vocabulary.lcores.push_back(fmt::format("{}", lcore.lcore));
    return vocabulary;
}

bool carry_out(Context& context, std::string_view line) {
    const Words words = split_words(line);
    if (words.in_quotes)
        throw_usage("", "a quote is opened and not closed; a word is \"like this\"");
    if (words.words.empty())
        return false;
    const Grammar::Found found = context.grammar.understand(words.words, vocabulary_of(context.process));
    found.command->handler(context, found.call);
    return true;
}

std::vector<PromptCommand> prompt_commands() {
    std::vector<PromptCommand> commands;
    add_show_commands(commands);
    add_change_commands(commands);
    add_run_commands(commands);
    add_seat_commands(commands);
    return commands;
}

}  // namespace spead::app
