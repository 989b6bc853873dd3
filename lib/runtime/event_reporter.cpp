// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/event_reporter.hpp"

#include <utility>

#include <fmt/core.h>

#include "runtime/stream_health.hpp"

namespace spead::runtime {

EventReporter::EventReporter(std::string name, const std::vector<std::string>& command, Hooks hooks)
    : name_(std::move(name)), hooks_(std::move(hooks)) {
    if (!command.empty())
        command_.emplace(command);
}

void EventReporter::report(const std::string& stream, const stats::LastEvent& event) {
    if (event.kind == stats::StreamEvent::sink_failed)
        log_error(LogType::runtime, "{}", sentence_of(stream, event));
    else if (is_bad(event.kind))
        log_warning(LogType::runtime, "{}", sentence_of(stream, event));
    else
        log_notice(LogType::runtime, "{}", sentence_of(stream, event));
    if (hooks_.on_event)
        hooks_.on_event(stream, event);
    if (command_)
        command_->run({{"SPEAD_STREAM", stream},
                       {"SPEAD_EVENT", std::string(stats::name_of(event.kind))},
                       {"SPEAD_TEXT", event.text},
                       {"SPEAD_TIME", fmt::format("{:.3f}", event.at_s)},
                       {"SPEAD_NAME", name_}});
}

void EventReporter::report(const LcoreEvent& event) {
    log_limited(lcore_news_, LogType::runtime, event.silent ? LogLevel::warning : LogLevel::notice, "{}",
                event.text);
    if (hooks_.on_lcore)
        hooks_.on_lcore(event.text, event.at_s);
    if (command_)
        command_->run({{"SPEAD_LCORE", fmt::format("{}", event.lcore)},
                       {"SPEAD_CPU", fmt::format("{}", event.cpu)},
                       {"SPEAD_STREAM", ""},
                       {"SPEAD_EVENT", event.silent ? "lcore_silent" : "lcore_back"},
                       {"SPEAD_TEXT", event.text},
                       {"SPEAD_TIME", fmt::format("{:.3f}", event.at_s)},
                       {"SPEAD_NAME", name_}});
}

void EventReporter::poll() {
    if (command_)
        command_->poll();
}

}  // namespace spead::runtime
