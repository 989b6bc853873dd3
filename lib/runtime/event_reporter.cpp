// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/event_reporter.hpp"

#include <exception>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "runtime/stream_health.hpp"

namespace spead::runtime {

namespace {

/// Returns what the command gets in its environment: what all events have, after what is the event's own.
EventCommand::Variables variables(EventCommand::Variables own, const std::string& stream,
                                  std::string_view event, const std::string& text, double at_s,
                                  const std::string& run) {
    own.insert(own.end(), {{"SPEAD_STREAM", stream},
                           {"SPEAD_EVENT", std::string(event)},
                           {"SPEAD_TEXT", text},
                           {"SPEAD_TIME", fmt::format("{:.3f}", at_s)},
                           {"SPEAD_NAME", run}});
    return own;
}

}  // namespace

EventReporter::EventReporter(std::string name, const std::vector<std::string>& command, Hooks hooks)
    : name_(std::move(name)), hooks_(std::move(hooks)) {
    if (!command.empty())
        command_.emplace(command);
}

void EventReporter::report(const std::string& stream, const stats::LastEvent& event) {
    if (event.kind == stats::StreamEvent::sink_failed || event.kind == stats::StreamEvent::capture_failed)
        log_error(LogType::runtime, "{}", sentence_of(stream, event));
    else if (is_bad(event.kind))
        log_warning(LogType::runtime, "{}", sentence_of(stream, event));
    else
        log_notice(LogType::runtime, "{}", sentence_of(stream, event));
    if (hooks_.on_event)
        hooks_.on_event(stream, event);
    if (command_)
        command_->run(variables({}, stream, stats::name_of(event.kind), event.text, event.at_s, name_));
}

void EventReporter::report(const LcoreEvent& event) {
    log_limited(lcore_news_, LogType::runtime, event.silent ? LogLevel::warning : LogLevel::notice, "{}",
                event.text);
    if (hooks_.on_lcore)
        hooks_.on_lcore(event.text, event.at_s);
    if (command_)
        command_->run(variables(
            {{"SPEAD_LCORE", fmt::format("{}", event.lcore)}, {"SPEAD_CPU", fmt::format("{}", event.cpu)}},
            "", event.silent ? "lcore_silent" : "lcore_back", event.text, event.at_s, name_));
}

void EventReporter::report(const EngineEvent& event) {
    log_limited(engine_news_, LogType::runtime, event.stalled ? LogLevel::error : LogLevel::notice, "{}",
                event.text);
    if (hooks_.on_engine)
        hooks_.on_engine(event.text, event.at_s);
    if (command_)
        command_->run(variables({{"SPEAD_ENGINE", event.engine}}, "",
                                event.stalled ? "engine_stalled" : "engine_back", event.text, event.at_s,
                                name_));
}

void EventReporter::poll() {
    if (command_)
        command_->poll();
}

void EventReporter::end() noexcept {
    if (!command_)
        return;
    try {
        if (const std::size_t left = command_->finish(kEndWait); left != 0)
            log_warning(LogType::runtime,
                        "the run has ended {} ago, and on_event has not finished with {}; it is killed",
                        counted(kEndWait.count(), "seconds"), counted(left, "events"));
    } catch (const std::exception& error) {
        log_error(LogType::runtime, "on_event: {}", error.what());
    }
    command_.reset();
}

}  // namespace spead::runtime
