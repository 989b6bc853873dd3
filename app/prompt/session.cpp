// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/session.hpp"

#include <fmt/core.h>

#include "app/exit_status.hpp"
#include "app/prompt/line_editor.hpp"
#include "app/prompt/words.hpp"
#include "base/error.hpp"

namespace spead::app {

namespace {

constexpr char kControlC = 3;

LineEditor::Completion completion(Context& context, std::string_view left) {
    LineEditor::Completion result;
    Words typed = split_words(left);
    std::string partial;
    if (typed.last_is_open) {
        partial = typed.words.back();
        typed.words.pop_back();
    }
    result.partial = partial.size();
    try {
        const Vocabulary vocabulary = vocabulary_of(context.process);
        result.choices = context.grammar.complete(typed.words, partial, vocabulary);
        if (result.choices.empty()) {
            if (!partial.empty())
                typed.words.push_back(partial);
            context.grammar.understand(typed.words, vocabulary);
        }
    } catch (const Error& error) {
        result.wrong = error.what();
    }
    return result;
}

}  // namespace

void run_terminal(Context& context, Line& line) {
    PromptSession& session = context.session;
    session.wait = [&line](double seconds) { return line.wait_undisturbed(seconds); };
    session.pause = session.wait;
    LineEditor editor(
        kPrompt, [&context](std::string_view left) { return completion(context, left); }, session.print);
    const auto leave = [&] {
        session.print("\n");
        if (!session.attached)
            context.process.end();
        session.over = true;
    };
    session.print(fmt::format("`help` lists the commands, Tab completes, ? lists the next words, `quit` {}\n",
                              session.attached ? "leaves" : "ends the program"));
    if (session.notifications != nullptr)
        line.hear(session.notifications->fd(),
                  [&session, &editor] { editor.interrupt(session.notifications->take()); });
    editor.begin();
    // At the process's own terminal, typing goes on when the answers are no longer read.
    while (!session.over && !(session.attached && line.gone())) {
        char c = 0;
        const Line::Got got = line.get(c);
        if (got == Line::Got::stopped)
            return session.print("\n");
        if (got == Line::Got::end || (c == kControlC && !session.attached))
            return leave();
        switch (editor.feed(c)) {
            case LineEditor::Key::more:
                continue;
            case LineEditor::Key::end:
                return leave();
            case LineEditor::Key::line:
                break;
        }
        try {
            carry_out(context, editor.line());
        } catch (const std::exception& error) {
            session.print(fmt::format("{}\n", reason_of(error)));
        }
        if (!session.over)
            editor.begin();
    }
}

ScriptResult run_script(Context& context, Line& line, const std::string& name, bool echo,
                        const std::function<void(std::string_view)>& complain) {
    PromptSession& session = context.session;
    if (session.notifications != nullptr)
        line.hear(session.notifications->fd(), [&session] { session.print(session.notifications->take()); });
    session.pause = [&session, &line](double seconds) {
        return session.attached ? line.wait_connected(seconds) : line.wait_for_stop(seconds);
    };
    ScriptResult result;
    const auto refuse = [&](std::size_t number, std::string what, int status) {
        what = name.empty() ? what : fmt::format("{}:{}: {}", name, number, what);
        complain(what + "\n");
        if (result.refused++ == 0) {
            result.first_refusal = what;
            result.status = status;
        }
    };
    std::string text;
    std::size_t number = 1;
    for (; !session.over && line.get_line(text); number++) {
        int status = kSuccess;
        std::string what;
        try {
            const Words words = split_words(text);
            if (words.words.empty() && !words.in_quotes)
                continue;
            result.commands++;
            if (echo)
                session.print(fmt::format("{}{}\n", kPrompt, text));
            carry_out(context, text);
            continue;
        } catch (const UsageError& error) {
            status = kUsage;
            what = error.what();
        } catch (const std::exception& error) {
            status = kFailure;
            what = reason_of(error);
        }
        if (line.stopped())
            break;
        refuse(number, std::move(what), status);
    }
    if (line.too_long())
        refuse(number,
               fmt::format("a command is longer than {} bytes; the rest of the input is not read",
                           Line::kLongestLine),
               kUsage);
    return result;
}

}  // namespace spead::app
