// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/mac.hpp"
#include "config/config.hpp"
#include "config/key_depth.hpp"
#include "config/toml_table.hpp"

namespace spead::config {

namespace {

using runtime::Plan;

/// Larger files are not configurations.
constexpr std::size_t kMaxFile = std::size_t{16} << 20;

void check_version(const TomlTable& root) {
    if (!root.has("version"))
        throw UsageError(root.where(),
                         fmt::format("there is no `version`; start the file with version = {}", kVersion));
    std::int64_t version = 0;
    root.read("version", version, Limits<std::int64_t>{INT64_MIN, INT64_MAX});
    if (version != kVersion)
        throw UsageError(
            root.where("version"),
            fmt::format("version {} of the file format is not supported; this program reads version {}",
                        version, kVersion));
}

/// The texts of the list and what they expand to; errors stand at the text that is wrong.
void read_endpoints(const TomlTable& table, const Source& source, std::vector<std::string>& texts,
                    std::vector<Endpoint>& endpoints) {
    table.require("endpoints", "[\"239.1.2.3:7148\"]");
    table.read_strings("endpoints", texts);
    for (std::size_t i = 0; i < texts.size(); i++) {
        try {
            for (const Endpoint& endpoint : parse_endpoints(texts[i]))
                endpoints.push_back(endpoint);
        } catch (const UsageError& error) {
            throw UsageError(source.locate(fmt::format("{}[{}]", table.path("endpoints"), i)), error.what());
        }
    }
}

void read_runtime(const TomlTable& table, runtime::RuntimePlan& out) {
    table.read("name", out.name);
    table.read("main_cpu", out.main_cpu, kCpu);
    table.read_cpus("lcores", out.lcores);
    table.read("live", out.live);
    table.read("control", out.control);
    table.read("log_level", out.log_level);
    table.read_strings("on_event", out.on_event);
    if (table.has("lcore_timeout"))
        table.read_duration("lcore_timeout", out.lcore_timeout.emplace(), true);
    if (table.has("log_level"))
        check_log_level(out.log_level, table.where("log_level"));
    if (std::string metrics; table.has("metrics")) {
        table.read("metrics", metrics);
        out.metrics = parse_listen_address(metrics, table.where("metrics"));
    }
    table.read("capabilities", out.capabilities, kKeptCapabilities);
}

runtime::PortPlan read_port(const TomlTable& table) {
    runtime::PortPlan port;
    table.require("name", "\"p0\"");
    table.read("name", port.name);
    table.require("device", "\"net_af_packet0,iface=veth0\"");
    table.read("device", port.device);
    if (std::uint32_t mtu = 0; table.has("mtu")) {
        table.read("mtu", mtu, Limits<std::uint32_t>{0, kMtu.max});
        port.mtu = mtu;
    }
    if (std::string address; table.has("address")) {
        table.read("address", address);
        port.address = parse_ipv4(address, table.where("address"));
    }
    if (table.has("vlan")) {
        std::uint32_t vlan = 0;
        table.read("vlan", vlan, kVlan);
        port.vlan = static_cast<std::uint16_t>(vlan);
    }
    table.read("timestamps", port.timestamps, kDoers);
    table.read("udp_checksum", port.udp_checksum);
    return port;
}

void read_heaps(const TomlTable& table, runtime::ReceivePlan& out) {
    table.read("max_live", out.max_live, kMaxLive);
    table.read("ring", out.ring, kRing);
    table.read_size("max_bytes", out.max_bytes, kMaxHeapBytes);
    table.read_duration("timeout", out.timeout, true);
    table.read("history", out.history, kHistory);
    table.read_duration("history_time", out.history_time, false);
    table.read("on_full", out.on_full, kOnFull);
}

void read_sink(const TomlTable& table, runtime::SinkPlan& out) {
    table.require("kind", "\"verify\"");
    table.read("kind", out.kind, kSinkKinds);
    table.read("directory", out.directory);
    table.read("on_error", out.on_error, kOnSinkError);
}

void read_capture(const TomlTable& table, capture::Options& out) {
    table.require("files", "[\"s0.pcap\"]");
    table.read_strings("files", out.files);
    table.read_size("rotate_size", out.rotate_size, kRotateSize);
    table.read_duration("rotate_seconds", out.rotate_seconds, true);
    table.read("snap_length", out.snap_length, kSnapLength);
    table.read("count", out.count, kCaptureCount);
    table.read_duration("duration", out.duration, true);
    table.read("direct_io", out.direct_io);
    table.read_size("buffer", out.buffer, kCaptureBuffer);
    table.read("only", out.only);
}

runtime::ReceivePlan read_receive(const TomlTable& table, Source& source) {
    runtime::ReceivePlan r;
    table.require("name", "\"s0\"");
    table.read("name", r.name);
    table.require("port", "\"p0\"");
    table.read("port", r.port);
    read_endpoints(table, source, r.endpoint_texts, r.endpoints);
    table.read_cpus("lcores", r.lcores);
    table.read("poll", r.poll, kPollModes);
    table.read("max_poll", r.max_poll, kMaxPoll);
    table.read("max_packet_size", r.max_packet_size, kReceivePacket);
    table.read_size("buffer_size", r.buffer_size, kBufferSize);
    table.read("substreams", r.substreams, kSubstreams);
    table.read("in_order", r.in_order);
    table.read("stop_on_stop_item", r.stop_on_stop_item);
    table.read("enabled", r.enabled);
    table.read("filter", r.filter);
    table.read("held_buffers", r.held_buffers, kHeldBuffers);
    table.read_duration("silent_after", r.silent_after, true);
    table.read("loss_threshold", r.loss_threshold, kFraction);
    table.read_rate("expected_rate", r.expected_rate);
    if (const toml::table* heaps = table.sub_table("heaps"))
        read_heaps(TomlTable(*heaps, source, table.path("heaps"), "[receive.heaps]", keys::kReceiveHeaps), r);
    if (const toml::table* sink = table.sub_table("sink"))
        read_sink(TomlTable(*sink, source, table.path("sink"), "[receive.sink]", keys::kReceiveSink), r.sink);
    if (const toml::table* capture = table.sub_table("capture"))
        read_capture(
            TomlTable(*capture, source, table.path("capture"), "[receive.capture]", keys::kReceiveCapture),
            r.capture.emplace());
    return r;
}

runtime::SendPlan read_send(const TomlTable& table, const Source& source) {
    runtime::SendPlan s;
    table.require("name", "\"d0\"");
    table.read("name", s.name);
    table.require("port", "\"p0\"");
    table.read("port", s.port);
    read_endpoints(table, source, s.endpoint_texts, s.endpoints);
    table.read("lcore", s.lcore, kCpu);
    if (std::string mac; table.has("dst_mac")) {
        table.read("dst_mac", mac);
        s.dst_mac = parse_mac(mac, table.where("dst_mac"));
    }
    table.read_rate("rate", s.rate);
    table.read_size("burst_size", s.burst_size, kBurstSize);
    table.read("burst_rate_ratio", s.burst_rate_ratio, kBurstRateRatio);
    table.read("pacer", s.pacer, kDoers);
    std::uint32_t ttl = s.ttl;
    table.read("ttl", ttl, kTtl);
    s.ttl = static_cast<std::uint8_t>(ttl);
    std::uint32_t dscp = s.dscp;
    table.read("dscp", dscp, kDscp);
    s.dscp = static_cast<std::uint8_t>(dscp);
    table.read("max_packet_size", s.max_packet_size, kSendPacket);
    table.read_size("heap_size", s.heap_size, kHeapSize);
    table.read("items", s.items, kItems);
    table.read("heaps", s.heaps, kSendHeaps);
    table.read("max_heaps", s.max_heaps, kInFlight);
    table.read_duration("timeout", s.timeout, true);
    table.read("first_count", s.first_count, kHeapCount);
    table.read("count_step", s.count_step, kCountStep);
    std::uint32_t bits = s.address_bits;
    table.read("addr_bits", bits, kAddressBits);
    s.address_bits = static_cast<std::uint8_t>(bits);
    table.read("zero_copy", s.zero_copy, kZeroCopy);
    table.read("verify", s.verify);
    table.read("udp_checksum", s.udp_checksum);
    table.read("impair", s.impair);
    table.read("enabled", s.enabled);
    return s;
}

void read_end(const TomlTable& table, runtime::EndPlan& out) {
    table.read("heaps", out.heaps, kEndHeaps);
    table.read_duration("duration", out.duration, true);
    table.read_duration("idle_exit", out.idle_exit, true);
    table.read("exit_on_stop", out.exit_on_stop);
}

Plan read_plan(const toml::table& tree, Source& source) {
    const TomlTable root(tree, source, "", "", keys::kRoot);
    check_version(root);
    Plan plan;
    if (const toml::table* table = root.sub_table("runtime"))
        read_runtime(TomlTable(*table, source, "runtime", "[runtime]", keys::kRuntime), plan.runtime);
    if (const toml::table* table = root.sub_table("memory"))
        TomlTable(*table, source, "memory", "[memory]", keys::kMemory)
            .read_size("heaps", plan.memory.heaps, kMemoryHeaps);
    for (const toml::table* table : root.tables("port"))
        plan.ports.push_back(read_port(
            TomlTable(*table, source, fmt::format("port[{}]", plan.ports.size()), "[[port]]", keys::kPort)));
    for (const toml::table* table : root.tables("receive"))
        plan.receives.push_back(
            read_receive(TomlTable(*table, source, fmt::format("receive[{}]", plan.receives.size()),
                                   "[[receive]]", keys::kReceive),
                         source));
    for (const toml::table* table : root.tables("send"))
        plan.sends.push_back(read_send(
            TomlTable(*table, source, fmt::format("send[{}]", plan.sends.size()), "[[send]]", keys::kSend),
            source));
    if (const toml::table* table = root.sub_table("end"))
        read_end(TomlTable(*table, source, "end", "[end]", keys::kEnd), plan.end);
    return plan;
}

}  // namespace

runtime::Plan parse_text(std::string_view text, std::string_view name) {
    Source source(name.empty() ? std::string("configuration") : std::string(name));
    toml::table tree;
    if (const std::optional<std::size_t> at = too_deep_key(text)) {
        const std::string_view before = text.substr(0, *at);
        const auto line = static_cast<toml::source_index>(std::count(before.begin(), before.end(), '\n') + 1);
        const auto column = static_cast<toml::source_index>(*at - (before.rfind('\n') + 1) + 1);
        throw UsageError(source.at({line, column}),
                         fmt::format("a key has more than {} parts", kMaxKeyParts));
    }
    try {
        tree = toml::parse(text, name);
    } catch (const toml::parse_error& error) {
        throw UsageError(source.at(error.source().begin), fmt::format("not TOML: {}", error.description()));
    }
    Plan plan = read_plan(tree, source);
    validate(plan, [&](std::string_view path) { return source.locate(path); });
    return plan;
}

runtime::Plan load_file(const std::string& path) {
    const auto fail = [&](std::string_view what) {
        throw_error(path, "cannot {} the configuration: {}; give a readable file, such as those in config/",
                    what, std::strerror(errno));
    };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file)
        fail("open");
    // Read to its end rather than asked for its size, so that a pipe serves as well.
    std::string text;
    std::array<char, 65536> buffer;
    while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
        text.append(buffer.data(), size);
        if (text.size() > kMaxFile)
            throw_usage(path, "it is larger than the {} that a configuration may have; is it the right file?",
                        human_size(kMaxFile));
    }
    if (std::ferror(file.get()) != 0)
        fail("read");
    return parse_text(text, path);
}

}  // namespace spead::config
