// SPDX-License-Identifier: BSD-3-Clause
#include "observe/event_log.hpp"

#include <chrono>
#include <utility>

#include "runtime/stream_health.hpp"

namespace spead::observe {

void EventLog::add(const std::string& name, const stats::LastEvent& event) {
    keep({.at_s = event.at_s,
          .name = name,
          .kind = std::string(stats::name_of(event.kind)),
          .text = runtime::sentence_of(name, event)});
}

void EventLog::add_lcore(const std::string& what, std::optional<double> at_s) {
    keep({.at_s = at_s, .name = {}, .kind = "lcore", .text = what});
}

void EventLog::add_engine(const std::string& what, double at_s) {
    keep({.at_s = at_s, .name = {}, .kind = "engine", .text = what});
}

void EventLog::keep(Event event) {
    event.time = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const std::lock_guard lock(mutex_);
    event.sequence = ++last_;
    events_.push_back(std::move(event));
    if (events_.size() > kMost)
        events_.pop_front();
}

EventLog::Look EventLog::since(std::uint64_t since) const {
    const std::lock_guard lock(mutex_);
    Look look;
    look.last = last_;
    const std::uint64_t forgotten = last_ - events_.size();
    if (since < forgotten)
        look.lost = forgotten - since;
    for (const Event& event : events_)
        if (event.sequence > since)
            look.events.push_back(event);
    return look;
}

Json event_json(const EventLog::Event& event) {
    Json json;
    json["sequence"] = event.sequence;
    json["time"] = event.time;
    json["at_s"] = event.at_s ? Json(*event.at_s) : Json();
    json["name"] = event.name.empty() ? Json() : Json(event.name);
    json["event"] = event.kind;
    json["text"] = event.text;
    return json;
}

}  // namespace spead::observe
