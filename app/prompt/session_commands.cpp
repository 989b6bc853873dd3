// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/prompt/context.hpp"
#include "app/prompt/words.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "stats/rates.hpp"

/// Adds commands about the session itself, and the end.
namespace spead::app {

namespace {

constexpr const char* kWait =
    "    For scripts. After SECONDS, the command fails. At a terminal, a key ends it.";
constexpr std::string_view kClearScreen = "\033[H\033[J";

void help(Context& context, const Call& call) {
    std::string text = context.grammar.help(call.rest);
    if (call.rest.empty())
        text +=
            "\n"
            "`help` and a command's words explain it. Tab completes a word, ? lists the possible next "
            "words.\n";
    context.session.print(text);
}

void watch(Context& context, const Call& call) {
    const double seconds = parse_duration(call.value("SECONDS"), "watch");
    if (call.rest.front() != "show" && !(call.rest.size() > 1 && call.rest[0] == "flow"))
        throw_usage("watch", "`{}` cannot be watched; give `show ...`", call.rest.front());
    if (!context.session.wait)
        throw_usage("watch", "it would never end here; type it at a prompt, or give it to dpdk-spead attach");
    const auto found = context.grammar.understand(call.rest, vocabulary_of(context.process));
    do {
        if (context.session.has_screen)
            context.session.print(
                fmt::format("{}every {}; a key ends it\n", kClearScreen, human_duration(seconds)));
        found.command->handler(context, found.call);
    } while (context.session.wait(seconds) && !context.session.over);
}

void wait(Context& context, const Call& call) {
    context.session.pause(parse_duration(call.value("SECONDS"), "wait"));
}

/// Looks repeatedly until `over`, for as long as the command says, or without limit.
void wait_until(Context& context, const Call& call, const std::string& what,
                const std::function<bool(const stats::Snapshot&)>& over) {
    using Clock = std::chrono::steady_clock;
    constexpr double kLook = 0.2;
    const Clock::time_point begin = Clock::now();
    const double limit = call.has("SECONDS") ? parse_duration(call.value("SECONDS"), "wait")
                                             : std::numeric_limits<double>::max();
    while (!over(context.process.snapshot())) {
        const double left = limit - std::chrono::duration<double>(Clock::now() - begin).count();
        if (left <= 0)
            throw_error("wait", "{} after {}", what, human_duration(limit));
        if (!context.session.pause(std::min(left, kLook)))
            return;
    }
}

void wait_send(Context& context, const Call& call) {
    const std::string name = call.value("SEND");
    wait_until(context, call, fmt::format("sender {} has not sent all of its heaps", name),
               [&name](const stats::Snapshot& now) {
                   const stats::SendSnapshot* const s = stats::find(now.sends, name);
                   return s == nullptr || s->state == stats::kSendDone || s->state == "stopped";
               });
}

void wait_capture(Context& context, const Call& call) {
    const std::string name = call.value("CAPTURED");
    wait_until(context, call, fmt::format("the capture of stream {} is not over", name),
               [&name](const stats::Snapshot& now) {
                   return std::all_of(now.captures.begin(), now.captures.end(),
                                      [&name](const stats::CaptureSnapshot& c) {
                                          return c.stream != name || c.over || c.finished;
                                      });
               });
}

void quit(Context& context, const Call&) {
    context.session.over = true;
    if (!context.session.attached)
        context.process.end();
}

void shutdown(Context& context, const Call&) {
    context.process.end();
    context.session.over = true;
}

}  // namespace

void add_session_commands(std::vector<PromptCommand>& commands) {
    commands.push_back(
        {"help [COMMAND...]", "list the commands, or explain those that begin with these words", "", help});
    commands.push_back(
        {"watch SECONDS COMMAND...", "repeat a command of show",
         "    watch 1 show stream all: until a key is pressed; in a pipe until there is more to read, or it\n"
         "    has ended, or its reader has gone. The command is one of show.",
         watch});
    commands.push_back(
        {"wait SECONDS", "wait for a time", "    For scripts. At a terminal a key ends it.", wait});
    commands.push_back(
        {"wait send SEND [SECONDS]", "wait until a sender has sent all of its heaps", kWait, wait_send});
    commands.push_back(
        {"wait capture CAPTURED [SECONDS]", "wait until a stream's capture is over", kWait, wait_capture});
    commands.push_back({"log level LEVEL", "set the log level", "    As --log-level takes it.",
                        [](Context& context, const Call& call) {
                            context.process.log_level(call.value("LEVEL"));
                            context.session.print(fmt::format("the log level is {}\n", call.value("LEVEL")));
                        }});
    commands.push_back(
        {"quit|exit", "leave the prompt",
         "    At the program's own prompt, it ends the program; in an attached one, only the session.\n"
         "    Ctrl-D does the same.",
         quit});
    commands.push_back({"shutdown", "end the program in order, as Ctrl-C does", "", shutdown});
}

}  // namespace spead::app
