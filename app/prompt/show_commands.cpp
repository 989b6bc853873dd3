// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/prompt/context.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "observe/capture_report.hpp"
#include "observe/key_words.hpp"
#include "observe/report.hpp"
#include "observe/report_details.hpp"
#include "observe/table.hpp"
#include "stats/since.hpp"

/// Adds commands that show and change nothing.
namespace spead::app {

namespace {

/// Holds the data of `show`: counts since `clear stats`, and the base of rates.
struct Picture {
    stats::Snapshot now;
    std::optional<stats::Snapshot> before;
    double age_s = 0;

    const stats::Snapshot* from() const { return before ? &*before : nullptr; }
};

Picture picture_of(Context& context) {
    Picture picture;
    const auto recent = context.process.recent();
    Process::Seen seen = context.process.seen();
    picture.now = std::move(seen.snapshot);
    picture.age_s = seen.age_s;
    const std::optional<stats::Snapshot>& cleared = context.session.cleared;
    const bool usable = recent != nullptr && (!cleared || recent->duration_s >= cleared->duration_s);
    if (usable)
        picture.before = cleared ? stats::since(*recent, *cleared) : *recent;
    if (cleared)
        picture.now = stats::since(std::move(picture.now), *cleared);
    return picture;
}

std::string head(const Context& context, const Picture& picture) {
    return fmt::format("{} {}{}{}\n", context.session.cleared ? "since `clear stats`," : "after",
                       human_duration(picture.now.duration_s), observe::shard_clause(picture.now.shard),
                       picture.age_s > 0 ? fmt::format("; the program is busy, and this is {} old",
                                                       human_duration(picture.age_s))
                                         : "");
}

template <typename T>
void keep_only(std::vector<T>& list, const std::string& name) {
    std::erase_if(list, [&](const T& one) { return one.name != name; });
}

void keep_only_stream(stats::Snapshot& now, const std::string& name) {
    keep_only(now.streams, name);
    now.removed = {};
}

/// Adds every number of a part of the JSON report, by its name there.
void flatten(observe::Table& table, const std::string& path, const nlohmann::ordered_json& value) {
    if (value.is_object()) {
        for (const auto& [key, inner] : value.items())
            flatten(table, path.empty() ? key : fmt::format("{}.{}", path, key), inner);
        return;
    }
    if (!value.is_number())
        return;
    table.row("counter", path);
    table.number("value", value.dump());
}

/// Returns the counters of "streams", "sends" or "ports", each with an empty line before it.
std::string counters_of(const stats::Snapshot& now, const char* list) {
    const nlohmann::ordered_json document = observe::report_document(now);
    std::string text;
    for (const auto& part : document[list]) {
        observe::Table table;
        flatten(table, "", part);
        text += "\n" + table.text();
    }
    return text;
}

/// Returns the report's advice about this stream, sender or port; about all, if the name is empty.
std::string advice_about(const stats::Snapshot& now, const std::string& name) {
    std::string text;
    for (const std::string& sentence : observe::report_advice(now))
        if (name.empty() || sentence.starts_with(name + ":"))
            text += observe::with_keys(sentence) + "\n";
    return text.empty() ? text : "\n" + text;
}

/// Returns the chosen name; "" for every one.
std::string chosen(const Call& call, std::string_view argument) {
    const std::string name = call.value(argument, "all");
    return name == "all" ? std::string{} : name;
}

void show_stream(Context& context, const Call& call) {
    Picture picture = picture_of(context);
    const std::string name = chosen(call, "STREAM");
    if (!name.empty())
        keep_only_stream(picture.now, name);
    const observe::ReportTables tables = observe::report_tables(picture.now, picture.from());
    std::string text = head(context, picture);
    if (picture.now.streams.empty())
        text += "no stream is received\n";
    text += tables.packets + (tables.heaps.empty() ? "" : "\n") + tables.heaps;
    if (!name.empty())
        text += counters_of(picture.now, "streams");
    picture.now.ports.clear();
    picture.now.sends.clear();
    context.session.print(text + advice_about(picture.now, name));
}

void show_heap(Context& context, const Call& call) {
    Picture picture = picture_of(context);
    const std::string name = chosen(call, "STREAM");
    if (!name.empty())
        keep_only_stream(picture.now, name);
    const std::string text = observe::report_tables(picture.now, picture.from()).heaps;
    context.session.print(head(context, picture) + (text.empty() ? "no stream is received\n" : text));
}

void show_send(Context& context, const Call& call) {
    Picture picture = picture_of(context);
    const std::string name = chosen(call, "SEND");
    if (!name.empty())
        keep_only(picture.now.sends, name);
    std::string text = observe::report_tables(picture.now, picture.from()).sends;
    if (text.empty())
        text = "nothing is sent\n";
    if (!name.empty())
        text += counters_of(picture.now, "sends");
    picture.now.streams.clear();
    picture.now.ports.clear();
    picture.now.captures.clear();
    context.session.print(head(context, picture) + text + advice_about(picture.now, name));
}

void show_capture(Context& context, const Call& call) {
    stats::Snapshot now = context.process.snapshot();
    const std::string name = chosen(call, "CAPTURED");
    if (!name.empty())
        std::erase_if(now.captures, [&](const stats::CaptureSnapshot& c) { return c.stream != name; });
    if (now.captures.empty()) {
        context.session.print(name.empty() ? "this run has no captures\n"
                                           : fmt::format("stream {} has no captures in this run\n", name));
        return;
    }
    std::string text = observe::captures_table(now);
    for (const stats::CaptureSnapshot& c : now.captures)
        if (!c.failure.empty())
            text += fmt::format("{}: {}\n", c.stream, c.failure);
    for (const std::string& sentence : observe::capture_advice(now))
        text += observe::with_keys(sentence) + "\n";
    context.session.print(text);
}

void show_port(Context& context, const Call& call) {
    Picture picture = picture_of(context);
    const std::string name = chosen(call, "PORT");
    if (!name.empty())
        keep_only(picture.now.ports, name);
    std::string text = head(context, picture) + observe::report_tables(picture.now, picture.from()).ports;
    if (!name.empty())
        text += counters_of(picture.now, "ports");
    picture.now.streams.clear();
    context.session.print(text + advice_about(picture.now, name));
}

void show_xstats(Context& context, const Call& call) {
    observe::Table table;
    for (const auto& [name, value] : context.process.xstats(call.value("PORT"))) {
        table.row("counter of the device", name);
        table.count("value", value);
    }
    context.session.print(table.empty() ? "this device has no counters of its own\n" : table.text());
}

std::string rate_text_of(const Picture& picture, std::uint64_t now, std::uint64_t before) {
    const double seconds = picture.now.duration_s - (picture.before ? picture.before->duration_s : 0.0);
    return seconds > 0 && now >= before ? human_packet_rate(static_cast<double>(now - before) / seconds)
                                        : "-";
}

/// Returns an lcore's count for a stream or port at the earlier moment.
std::uint64_t earlier_received(const Picture& picture, unsigned lcore, const std::string& name,
                               std::vector<stats::LcoreSnapshot::Received> stats::LcoreSnapshot::*list) {
    if (picture.before)
        for (const stats::LcoreSnapshot& l : picture.before->lcores)
            if (l.lcore == lcore)
                for (const auto& share : l.*list)
                    if (share.name == name)
                        return share.received;
    return 0;
}

void show_queue(Context& context, const Call& call) {
    const Picture picture = picture_of(context);
    const std::string port = chosen(call, "PORT");
    observe::Table table;
    for (const stats::LcoreSnapshot& l : picture.now.lcores)
        for (const auto& share : l.ports) {
            if (!port.empty() && share.name != port)
                continue;
            table.row("port", share.name);
            table.count("polled by lcore", l.lcore);
            table.count("on CPU", l.cpu);
            table.word("idle", l.poll);
            table.count("packets", share.received);
            const std::uint64_t before =
                earlier_received(picture, l.lcore, share.name, &stats::LcoreSnapshot::ports);
            table.number("packet rate", rate_text_of(picture, share.received, before));
        }
    context.session.print(head(context, picture) +
                          (table.empty() ? "no receive queue is polled\n" : table.text()));
}

void show_lcore(Context& context, const Call& call) {
    const Picture picture = picture_of(context);
    const std::string wanted = chosen(call, "LCORE");
    observe::Table table;
    std::uint64_t sum = 0;
    for (const stats::LcoreSnapshot& l : picture.now.lcores) {
        const std::string id = fmt::format("{}", l.lcore);
        if (!wanted.empty() && id != wanted)
            continue;
        table.row("lcore", id);
        table.count("CPU", l.cpu);
        table.word_if_any("state", l.silent_s > 0 ? "silent" : "");
        table.word("idle", l.poll);
        std::uint64_t received = 0;
        std::uint64_t before = 0;
        std::vector<std::string> streams;
        for (const auto& share : l.streams) {
            received += share.received;
            before += earlier_received(picture, l.lcore, share.name, &stats::LcoreSnapshot::streams);
            streams.push_back(fmt::format("{}: {}", share.name, share.received));
        }
        if (l.removed != 0) {
            received += l.removed;
            before += l.removed;
            streams.push_back(fmt::format("(removed): {}", l.removed));
        }
        sum += received;
        table.count("packets", received);
        table.number("packet rate", rate_text_of(picture, received, before));
        std::vector<std::string> ports;
        for (const auto& share : l.ports)
            ports.push_back(share.name);
        table.word("polls", fmt::format("{}", fmt::join(ports, " ")));
        table.word("sends", fmt::format("{}", fmt::join(l.sends, " ")));
        table.word("streams", fmt::format("{}", fmt::join(streams, "  ")));
    }
    std::string text = head(context, picture) + table.text();
    if (wanted.empty() && picture.now.lcores.size() > 1)
        text += fmt::format("{} on {} lcores\n", counted(sum, "packets"), picture.now.lcores.size());
    for (const stats::LcoreSnapshot& l : picture.now.lcores)
        if (l.silent_s > 0)
            text += l.silence() + "\n";
    for (const stats::EngineSnapshot& e : picture.now.engines)
        if (e.stalled_s > 0)
            text += e.stall() + "\n";
    context.session.print(text);
}

void show_flow(Context& context, const Call& call) {
    const std::string wanted = chosen(call, "PORT");
    const runtime::Plan plan = context.process.plan();
    const auto rules = context.process.rules();
    const stats::Snapshot now = context.process.snapshot();
    observe::Table table;
    std::string text;
    for (std::size_t i = 0; i < rules.size() && i < plan.ports.size(); i++) {
        const std::string& port = plan.ports[i].name;
        if (!wanted.empty() && port != wanted)
            continue;
        if (rules[i].empty())
            text += fmt::format("port {}: no rules; steering is {}\n", port,
                                i < now.ports.size() ? now.ports[i].steering : "software");
        for (const stats::RuleSnapshot& rule : rules[i]) {
            table.row("port", port);
            table.word("endpoint", rule.endpoint);
            table.word("queues", fmt::format("{}", fmt::join(rule.queues, ",")));
            table.number("hits", rule.hits ? fmt::format("{}", *rule.hits) : "-");
            table.word("rule", rule.text);
        }
    }
    context.session.print(table.text() + text);
}

void show_memory(Context& context, const Call&) {
    const runtime::Plan plan = context.process.plan();
    const stats::Snapshot now = context.process.snapshot();
    std::string text = fmt::format("{} for heaps, all streams together\n", size_text(plan.memory.heaps));
    observe::Table streams;
    for (const stats::StreamSnapshot& s : now.streams) {
        streams.row("stream", s.name);
        streams.count("live heaps", s.heaps_live);
        streams.count("queued heaps", s.heaps_queued);
        streams.count("no_memory", s.packets[static_cast<std::size_t>(PacketOutcome::no_memory)]);
        if (s.chunks.buffers != 0)
            streams.number_if_any(
                "chunks", fmt::format("{} x {}", s.chunks.buffers, human_size(s.chunks.buffer_bytes)));
    }
    if (!streams.empty())
        text += "\n" + streams.text();
    observe::Table table;
    std::uint64_t bytes = 0;
    for (const Process::Pool& pool : context.process.pools()) {
        table.row("pool of packets", pool.name);
        table.count("buffers", pool.size);
        table.count("in use", pool.in_use);
        table.count("free", pool.size - std::min(pool.in_use, pool.size));
        table.number("memory", human_size(pool.size * pool.buffer_bytes));
        bytes += pool.size * pool.buffer_bytes;
    }
    if (!table.empty())
        text += fmt::format("\n{}{} in all pools\n", table.text(), human_size(bytes));
    context.session.print(text);
}

void show_config(Context& context, const Call& call) {
    runtime::Plan plan = context.process.plan();
    const std::string name = chosen(call, "PART");
    if (name.empty()) {
        context.session.print(config::to_toml(plan));
        return;
    }
    keep_only(plan.ports, name);
    keep_only(plan.receives, name);
    keep_only(plan.sends, name);
    const std::string text = config::to_toml(plan);
    const std::size_t parts = text.find("[[");
    context.session.print(parts == std::string::npos ? std::string{} : text.substr(parts));
}

void clear_stats(Context& context, const Call&) {
    context.session.cleared = context.process.snapshot();
    context.session.print("cleared: counts of this prompt start now\n");
}

void clear_undo(Context& context, const Call&) {
    context.session.cleared.reset();
    context.session.print("counts of this prompt are from the start again\n");
}

}  // namespace

void add_show_commands(std::vector<PromptCommand>& commands) {
    const std::string rates =
        "    Rates are over the last second, counts from the start or from `clear stats`.";
    commands.push_back({"show stream [STREAM|all]", "packets and heaps of streams, by outcome",
                        "    For one stream: every counter, by its name in the JSON report.\n" + rates,
                        show_stream});
    commands.push_back({"show heap [STREAM|all]", "heaps of streams, by outcome", rates, show_heap});
    commands.push_back({"show send [SEND|all]", "heaps and packets of senders", rates, show_send});
    commands.push_back({"show port [PORT|all]", "packets that ports received, sent, refused and lost",
                        "    For one port: every counter, by its name in the JSON report.\n" + rates,
                        show_port});
    commands.push_back({"show capture [CAPTURED|all]", "captures of this run",
                        "    Shows ended captures, too. Counts and rates are from a capture's start, also "
                        "after `clear stats`.",
                        show_capture});
    commands.push_back({"show port xstats PORT", "the device's own counters", "", show_xstats});
    commands.push_back(
        {"show queue [PORT|all]", "receive queues, their lcores and packets", rates, show_queue});
    commands.push_back(
        {"show lcore [LCORE|all]", "queues, senders and streams of each lcore", rates, show_lcore});
    commands.push_back({"show flow [PORT|all]", "steering rules of ports, with their hits", "", show_flow});
    commands.push_back({"show memory", "memory for heaps and packets", "", show_memory});
    commands.push_back({"show config [PART|all]", "the configuration as it is now",
                        "    In the format of the configuration file, with every key.", show_config});
    commands.push_back({"flow list [PORT|all]", "the same as show flow", "", show_flow});
    commands.push_back(
        {"clear stats", "start the counts of this prompt at 0",
         "    The report, metrics and other prompts are not affected. `clear undo` reverts it.",
         clear_stats});
    commands.push_back({"clear undo", "show counts from the start again", "", clear_undo});
}

}  // namespace spead::app
