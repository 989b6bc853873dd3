// SPDX-License-Identifier: BSD-3-Clause
#include <iterator>

#include "base/mac.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "config/names.hpp"

namespace spead::config {

namespace {

/// A TOML basic string.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            out += {'\\', c};
        else if (byte < 0x20 || byte == 0x7F)
            out += fmt::format("\\u{:04X}", byte);
        else
            out += c;
    }
    return out + '"';
}

class Printer {
  public:
    void head(std::string_view text) { line("\n{}", text); }
    void key(std::string_view name, const std::string& value) { line("{} = {}", name, value); }
    void text(std::string_view name, std::string_view value) { key(name, quoted(value)); }
    void flag(std::string_view name, bool value) { key(name, value ? "true" : "false"); }
    void size(std::string_view name, std::uint64_t value) { key(name, quoted(size_text(value))); }
    void duration(std::string_view name, double value, bool off_word) {
        key(name, quoted(value == 0 && off_word ? std::string("off") : duration_text(value)));
    }
    template <typename T>
    void number(std::string_view name, T value) {
        key(name, fmt::format("{}", value));
    }
    void numbers(std::string_view name, const std::vector<unsigned>& list) {
        key(name, fmt::format("[{}]", fmt::join(list, ", ")));
    }
    void texts(std::string_view name, const std::vector<std::string>& list) {
        std::vector<std::string> quotes;
        for (const std::string& entry : list)
            quotes.push_back(quoted(entry));
        key(name, fmt::format("[{}]", fmt::join(quotes, ", ")));
    }
    template <typename... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
        out_ += '\n';
    }
    std::string take() { return std::move(out_); }

  private:
    std::string out_;
};

void print(Printer& p, const runtime::ReceivePlan& r) {
    p.head("[[receive]]");
    p.text("name", r.name);
    p.text("port", r.port);
    p.texts("endpoints", r.endpoint_texts);
    p.numbers("lcores", r.lcores);
    p.text("poll", name_in(kPollModes, r.poll));
    p.number("max_poll", r.max_poll);
    p.number("max_packet_size", r.max_packet_size);
    p.size("buffer_size", r.buffer_size);
    p.number("substreams", r.substreams);
    p.flag("in_order", r.in_order);
    p.flag("stop_on_stop_item", r.stop_on_stop_item);
    p.flag("enabled", r.enabled);
    if (!r.filter.empty())
        p.text("filter", r.filter);
    if (r.held_buffers != 0)
        p.number("held_buffers", r.held_buffers);
    p.duration("silent_after", r.silent_after, true);
    p.number("loss_threshold", r.loss_threshold);
    p.text("expected_rate", rate_text(r.expected_rate));
    p.line("[receive.heaps]");
    p.number("max_live", r.max_live);
    p.number("ring", r.ring);
    p.size("max_bytes", r.max_bytes);
    p.duration("timeout", r.timeout, true);
    p.number("history", r.history);
    p.duration("history_time", r.history_time, false);
    p.text("on_full", name_in(kOnFull, r.on_full));
    p.line("[receive.sink]");
    p.text("kind", name_in(kSinkKinds, r.sink.kind));
    if (r.sink.kind == runtime::SinkKind::file)
        p.text("directory", r.sink.directory);
    p.text("on_error", name_in(kOnSinkError, r.sink.on_error));
    if (r.capture) {
        p.line("[receive.capture]");
        p.texts("files", r.capture->files);
        p.size("rotate_size", r.capture->rotate_size);
        p.duration("rotate_seconds", r.capture->rotate_seconds, true);
        p.number("snap_length", r.capture->snap_length);
        p.number("count", r.capture->count);
        p.duration("duration", r.capture->duration, true);
        p.flag("direct_io", r.capture->direct_io);
        p.size("buffer", r.capture->buffer);
        p.flag("only", r.capture->only);
    }
}

void print(Printer& p, const runtime::SendPlan& s) {
    p.head("[[send]]");
    p.text("name", s.name);
    p.text("port", s.port);
    p.texts("endpoints", s.endpoint_texts);
    if (s.lcore)
        p.number("lcore", *s.lcore);
    if (s.dst_mac)
        p.text("dst_mac", mac_text(*s.dst_mac));
    p.text("rate", rate_text(s.rate));
    p.size("burst_size", s.burst_size);
    p.number("burst_rate_ratio", s.burst_rate_ratio);
    p.text("pacer", name_in(kDoers, s.pacer));
    p.number("ttl", s.ttl);
    p.number("dscp", s.dscp);
    p.number("max_packet_size", s.max_packet_size);
    p.size("heap_size", s.heap_size);
    p.number("items", s.items);
    p.number("heaps", s.heaps);
    p.number("max_heaps", s.max_heaps);
    p.duration("timeout", s.timeout, true);
    p.number("first_count", s.first_count);
    p.number("count_step", s.count_step);
    p.number("addr_bits", s.address_bits);
    p.text("zero_copy", name_in(kZeroCopy, s.zero_copy));
    p.flag("verify", s.verify);
    p.flag("udp_checksum", s.udp_checksum);
    if (!s.impair.empty())
        p.text("impair", s.impair);
    p.flag("enabled", s.enabled);
}

}  // namespace

std::string to_toml(const runtime::Plan& plan) {
    Printer p;
    p.number("version", kVersion);

    p.head("[runtime]");
    p.text("name", plan.runtime.name);
    if (plan.runtime.main_cpu)
        p.number("main_cpu", *plan.runtime.main_cpu);
    p.numbers("lcores", plan.runtime.lcores);
    if (plan.runtime.live)
        p.flag("live", true);
    if (!plan.runtime.control.empty())
        p.text("control", plan.runtime.control);
    if (!plan.runtime.log_level.empty())
        p.text("log_level", plan.runtime.log_level);
    if (!plan.runtime.on_event.empty())
        p.texts("on_event", plan.runtime.on_event);
    if (plan.runtime.lcore_timeout)
        p.duration("lcore_timeout", *plan.runtime.lcore_timeout, true);
    if (plan.runtime.metrics)
        p.text("metrics", to_string(*plan.runtime.metrics));
    if (plan.runtime.capabilities != runtime::KeptCapabilities::needed)
        p.text("capabilities", name_in(kKeptCapabilities, plan.runtime.capabilities));

    p.head("[memory]");
    p.size("heaps", plan.memory.heaps);

    p.head("[end]");
    p.number("heaps", plan.end.heaps);
    p.duration("duration", plan.end.duration, true);
    p.duration("idle_exit", plan.end.idle_exit, true);
    p.flag("exit_on_stop", plan.end.exit_on_stop);

    for (const runtime::PortPlan& port : plan.ports) {
        p.head("[[port]]");
        p.text("name", port.name);
        p.text("device", port.device);
        p.number("mtu", port.mtu);
        if (port.address.value != 0)
            p.text("address", to_string(port.address));
        if (port.vlan)
            p.number("vlan", *port.vlan);
        p.text("timestamps", name_in(kDoers, port.timestamps));
        p.flag("udp_checksum", port.udp_checksum);
    }
    for (const runtime::ReceivePlan& r : plan.receives)
        print(p, r);
    for (const runtime::SendPlan& s : plan.sends)
        print(p, s);
    return p.take();
}

}  // namespace spead::config
