// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <span>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/file_use.hpp"
#include "base/mac.hpp"
#include "base/units.hpp"
#include "base/utf8.hpp"
#include "config/config.hpp"
#include "config/copy_rules.hpp"
#include "config/engine_rules.hpp"
#include "config/format_rules.hpp"
#include "config/kernel_ports.hpp"
#include "config/keys.hpp"
#include "config/limits.hpp"
#include "config/names.hpp"
#include "config/path_rules.hpp"
#include "config/pattern_rules.hpp"
#include "config/shards.hpp"
#include "config/sink_faults.hpp"
#include "config/sink_rules.hpp"
#include "config/split_rules.hpp"
#include "runtime/chunk_sink.hpp"
#include "runtime/paths.hpp"

namespace spead::config {

namespace {

using runtime::Plan;
using runtime::ReceivePlan;
using runtime::SendPlan;

constexpr std::size_t kMaxName = 63;

/// Checks the rules, each with the place that its error names.
class Rules {
  public:
    Rules(const Plan& plan, const Locator& locate, std::span<const std::string> asking)
        : plan_(plan), locate_(locate), asking_(asking) {}

    void check() const {
        keys();
        runtime_part();
        ports();
        for (std::size_t i = 0; i < plan_.receives.size(); i++)
            receive(i);
        for (std::size_t i = 0; i < plan_.sends.size(); i++)
            send(i);
        no_name_twice("receive", plan_.receives);
        no_name_twice("send", plan_.sends);
        check_endpoints_once(plan_, locate_, asking_);
        no_file_twice();
        if (const auto fault = sink_fault(plan_))
            fail(fault->path, "{}", fault->what);
        what_is_sent_can_be_received();
        end();
        if (plan_.receives.empty() && plan_.sends.empty() && !plan_.runtime.live)
            fail("", "the plan has no stream to receive and none to send; add a [[receive]] or a [[send]]");
    }

  private:
    template <typename... Args>
    [[noreturn]] void fail(const std::string& path, fmt::format_string<Args...> format,
                           Args&&... args) const {
        throw UsageError(locate_ ? locate_(path) : std::string{},
                         fmt::format(format, std::forward<Args>(args)...));
    }

    static std::string last_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }

    std::string place(const std::string& path) const { return locate_ ? locate_(path) : std::string{}; }

    /// Checks each value against the tables of keys.
    void keys() const {
        for (const Section& section : sections())
            for_each_part(plan_, section, [&](const std::string& path, ConstPart part) {
                for (const Key& key : section.keys)
                    value(fmt::format("{}.{}", path, key.name), key, key.field.get(part));
            });
    }

    void value(const std::string& path, const Key& key, const Value& value) const {
        if (const std::string wrong = complaint(key, value); !wrong.empty())
            fail(path, "{}", wrong);
        if (const auto* one = std::get_if<std::string>(&value)) {
            text(path, *one);
            if (key.check != nullptr && !one->empty())
                key.check(*one, place(path));
        } else if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
            for (std::size_t i = 0; i < list->size(); i++)
                text(fmt::format("{}[{}]", path, i), (*list)[i]);
        } else if (const auto* cpus = std::get_if<std::vector<unsigned>>(&value)) {
            no_cpu_twice(path, *cpus);
        }
    }

    void name(const std::string& path, const std::string& text) const {
        const auto letter = [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        };
        const auto allowed = [&](char c) { return letter(c) || c == '_' || c == '-' || c == '.'; };
        if (text.empty() || text.size() > kMaxName || !letter(text.front()) ||
            !std::all_of(text.begin(), text.end(), allowed))
            fail(path,
                 "`{}` is not a name; give 1 to {} letters, digits, `_`, `-` or `.`, a letter or digit first",
                 text, kMaxName);
    }

    /// Refuses a name that the prompt could not tell from a word of its own.
    void not_reserved(const std::string& path, const std::string& text,
                      std::initializer_list<std::string_view> words) const {
        for (const std::string_view word : words)
            if (text == word)
                fail(path, "`{}` cannot be a name, because it is a word of the prompt; give another", text);
    }

    void text(const std::string& path, const std::string& value) const {
        if (!is_text(value))
            fail(path, "`{}` holds bytes that are not UTF-8 text", last_of(path));
    }

    void no_cpu_twice(const std::string& path, const std::vector<unsigned>& list) const {
        std::set<unsigned> seen;
        for (const unsigned cpu : list)
            if (!seen.insert(cpu).second)
                fail(path, "CPU {} is listed twice in `{}`", cpu, last_of(path));
    }

    void runtime_part() const {
        name("runtime.name", plan_.runtime.name);
        const std::vector<std::string>& command = plan_.runtime.on_event;
        if (!command.empty() && command.front().empty())
            fail("runtime.on_event", "the program's name is empty; give its path, then its arguments");
    }

    void ports() const {
        std::map<std::string, std::string> devices;
        for (std::size_t i = 0; i < plan_.ports.size(); i++) {
            const runtime::PortPlan& port = plan_.ports[i];
            const std::string path = fmt::format("port[{}]", i);
            name(path + ".name", port.name);
            not_reserved(path + ".name", port.name, {"all", "xstats"});
            if (port.device.empty())
                fail(path + ".device",
                     "the device of port `{}` is empty; give a netdev name, an IP address of this machine, a "
                     "PCI "
                     "address, an RDMA device or a device string such as net_af_packet0,iface=veth0",
                     port.name);
            if (port.address.value >> 28 >= 0xE || port.address.value >> 24 == 127)
                fail(path + ".address",
                     "{} cannot be the address of a host; give port `{}` one of its own, as in 10.0.0.5",
                     to_string(port.address), port.name);
            const IpAddress six = port.address6;
            if (six.is_multicast() || six == IpAddress(Ipv6{0, 1}))
                fail(path + ".address6",
                     "{} cannot be the address of a host; give port `{}` one of its own, as in fd00::5",
                     to_string(six), port.name);
            if (!port.reassemble && port.reassemble_datagrams != runtime::PortPlan{}.reassemble_datagrams)
                fail(path + ".reassemble_datagrams",
                     "`reassemble_datagrams` of port `{}` is {}, and nothing is put together without "
                     "`reassemble = true` (--reassemble); give that, too, or leave it out",
                     port.name, port.reassemble_datagrams);
            if (const auto fault = split_fault(plan_, port))
                fail(fmt::format("{}.{}", path, fault->key), "{}", fault->what);
            const auto [other, fresh] = devices.emplace(port.device, port.name);
            if (!fresh)
                fail(path + ".device",
                     "port `{}` has the same device as port `{}`: {}; use one port for both", port.name,
                     other->second, port.device);
        }
        no_name_twice("port", plan_.ports);
    }

    template <typename Part>
    void no_name_twice(std::string_view part, const std::vector<Part>& list) const {
        std::set<std::string> seen;
        for (std::size_t i = 0; i < list.size(); i++)
            if (!seen.insert(list[i].name).second)
                fail(fmt::format("{}[{}].name", part, i),
                     "the name `{}` is taken by another {}; give each its own", list[i].name, part);
    }

    const runtime::PortPlan& port_of(const std::string& path, const std::string& port) const {
        std::vector<std::string_view> names;
        for (const runtime::PortPlan& known : plan_.ports) {
            if (known.name == port)
                return known;
            names.push_back(known.name);
        }
        if (names.empty())
            fail(path, "there is no port `{}`: the plan has no ports; add a [[port]] with that name", port);
        fail(path, "there is no port `{}`{}; the ports are {}", port, hint(port, names), list_of(names));
    }

    void endpoints(const std::string& path, const std::vector<Endpoint>& list,
                   const std::vector<std::string>& texts) const {
        if (list.empty())
            fail(path, "the endpoint is missing; give at least one, as in 239.1.2.3:7148");
        std::vector<Endpoint> from_texts;
        for (const std::string& endpoint_text : texts)
            for (const Endpoint& endpoint : parse_endpoints(endpoint_text))
                from_texts.push_back(endpoint);
        if (from_texts != list)
            fail(path, "the endpoints do not match their texts ({} and {} of them)", list.size(),
                 from_texts.size());
        for (const Endpoint& endpoint : list)
            if (endpoint.address.is_unspecified())
                fail(path, "{} has no address; give a multicast group or the port's own address",
                     to_string(endpoint));
    }

    /// Refuses link-local endpoints at kernel sockets without an interface, which would be their zone.
    void interface_of_link_local(const std::string& path, const std::string& port,
                                 const std::vector<Endpoint>& list) const {
        const auto on = std::ranges::find(plan_.ports, port, &runtime::PortPlan::name);
        if (on == plan_.ports.end() || !is_kernel_port(*on) || names_interface(*on))
            return;
        for (const Endpoint& endpoint : list)
            if (endpoint.address.is_link_local())
                fail(path,
                     "{} is link-local, and means nothing without a network interface; name it with --port "
                     "NETDEV (in a [[port]]: device = \"{},iface=NETDEV\")",
                     to_string(endpoint), on->device);
    }

    void receive(std::size_t i) const {
        const ReceivePlan& r = plan_.receives[i];
        const std::string path = fmt::format("receive[{}]", i);
        name(path + ".name", r.name);
        not_reserved(path + ".name", r.name, {"all"});
        const runtime::PortPlan& port = port_of(path + (r.paths.empty() ? ".port" : ".paths[0]"), r.port);
        if (r.backend == runtime::Backend::kernel && !is_kernel_port(port))
            fail(path + ".backend",
                 "stream `{}` wants kernel sockets, and port `{}` is {}; give a port with the device "
                 "net_kernel0,iface=NETDEV",
                 r.name, port.name, port.device);
        if (is_kernel_port(port) && port.vlan)
            fail(path + ".backend",
                 "stream `{}` is received by kernel sockets in VLAN {}, and the kernel takes tags off; name "
                 "the network interface of that VLAN (`ip -d link` lists it), without `vlan`",
                 r.name, *port.vlan);
        endpoints(path + ".endpoints", r.endpoints, r.endpoint_texts);
        if (!r.path_endpoints.empty())
            endpoints(path + ".path_endpoints", r.path_endpoints, r.path_endpoint_texts);
        runtime::for_each_path(r, [&](std::size_t n, const std::string& on, const auto& list) {
            interface_of_link_local(
                path + (n == 0 || r.path_endpoints.empty() ? ".endpoints" : ".path_endpoints"), on, list);
        });
        if (r.history > 0 && r.history_time == 0)
            fail(path + ".heaps.history_time",
                 "`history_time` is 0, so no heap is remembered; give a time, or `history` 0 (--history) to "
                 "turn it off");
        if (!r.chunk && r.max_bytes > plan_.memory.heaps)
            fail(path + ".heaps.max_bytes",
                 "one heap of stream `{}` may have {}, more than the {} for all heaps; lower the largest "
                 "heap (`max_bytes`, --max-heap-bytes) or raise the memory (`[memory] heaps`, --memory)",
                 r.name, human_size(r.max_bytes), human_size(plan_.memory.heaps));
        sink(path + ".sink", r.sink);
        assignments(r, [&](std::size_t entry) { return place(fmt::format("{}.assign[{}]", path, entry)); });
        if (r.chunk)
            chunk(path, r, *r.chunk);
        for (const auto& fault :
             {path_fault(plan_, r), format_fault(r), engine_fault(r, is_kernel_port(port))})
            if (fault)
                fail(fmt::format("{}.{}", path, fault->key), "{}", fault->what);
        check_arrays(r, [&](std::string_view key) { return place(fmt::format("{}.sink.{}", path, key)); });
        if (r.capture)
            capture(path + ".capture", *r.capture);
    }

    void sink(const std::string& path, const runtime::SinkPlan& sink) const {
        const std::string_view kind = name_in(kSinkKinds, sink.kind);
        check_directories(sink, place(path + ".directories"));
        if (runtime::has_directory(sink.kind) && sink.directory.empty() && sink.directories.empty())
            fail(path, "a {} sink needs a `directory` to write to", kind);
        if (!runtime::has_directory(sink.kind) && !sink.directory.empty())
            fail(path + ".directory",
                 "`directory` is for a sink that writes files, and this one is `{}`; set `kind` to `file`, "
                 "`raw`, `zarr` or `hdf5`, or leave `directory` out",
                 kind);
        if (sink.kind != runtime::SinkKind::raw && sink.kind != runtime::SinkKind::hdf5 &&
            sink.rotate_size > 0)
            fail(path + ".rotate_size",
                 "`rotate_size` is for a raw or hdf5 sink, and this one is `{}`; set `kind` to `raw`, or "
                 "leave "
                 "`rotate_size` out",
                 kind);
    }

    void chunk_placement(const std::string& in, const ReceivePlan& r, const runtime::ChunkPlan& c) const {
        c.parsed(place(in + ".placement")).check(place(in + ".placement"));
        const chunk::Way said = chunk::Placement::parse(c.placement).way;
        if (said != chunk::Way::automatic && c.way != chunk::Way::automatic && said != c.way)
            fail(in + ".way",
                 "`way` is {}, and the placement of stream `{}` says `{}`; leave one of the two out",
                 name_in(kWays, c.way), r.name, name_in(kWays, said));
    }

    void chunk(const std::string& path, const ReceivePlan& r, const runtime::ChunkPlan& c) const {
        const std::string in = path + ".chunk";
        if (c.placement.empty() && !c.by_callback)
            fail(in + ".placement",
                 "the chunks of stream `{}` have no `placement`; give one (docs/chunks.md)", r.name);
        if (!c.by_callback)
            chunk_placement(in, r, c);
        runtime::check_readable(r.sink.kind, runtime::kind_of(c.memory), place(path + ".sink"));
        const std::uint32_t spare = runtime::ChunkPlan::spare(c.back_fill);
        if (c.chunks < c.window + spare)
            fail(in + ".chunks",
                 "{} in the window + at least {} with the consumer = {} chunks, and there {} {}; raise "
                 "`chunks` (--chunks) or lower `window` (--chunk-window)",
                 c.window, spare, c.window + spare, word_for(c.chunks, "is", "are"), c.chunks);
        if (r.on_full == runtime::OnFullSetting::drop_oldest)
            fail(path + ".heaps.on_full",
                 "`drop_oldest` drops waiting heaps, and stream `{}` has chunks; give drop_newest or block",
                 r.name);
        if (r.capture && r.capture->only)
            fail(path + ".capture.only",
                 "with `only`, no packets of stream `{}` get into its chunks; leave out `only` or "
                 "[receive.chunk]",
                 r.name);
    }

    void capture(const std::string& path, const capture::Options& c) const {
        if (c.files.empty() || c.files.size() > kCaptureFiles)
            fail(path + ".files", "{} capture files are given; give 1 to {}", c.files.size(), kCaptureFiles);
        for (const std::string& file : c.files) {
            if (file.empty() || file.ends_with('/'))
                fail(path + ".files", "`{}` is not a capture file; give a file's name", file);
            if (file == "-")
                fail(path + ".files",
                     "`-` is not a file, and captures cannot go to standard output; name a file");
        }
    }

    /// Refuses a file for two sinks, whose threads would overwrite each other.
    void no_file_twice() const {
        std::vector<std::string> seen;
        for (std::size_t i = 0; i < plan_.receives.size(); i++) {
            if (!plan_.receives[i].capture)
                continue;
            for (const std::string& file : plan_.receives[i].capture->files) {
                const auto same = std::find_if(seen.begin(), seen.end(),
                                               [&file](const std::string& s) { return same_file(s, file); });
                if (same != seen.end())
                    fail(fmt::format("receive[{}].capture.files", i),
                         "{} is the file of two captures{}; give each capture, and each disk, its own file",
                         file, *same == file ? "" : ", once by the name " + *same);
                seen.push_back(file);
            }
        }
    }

    void send(std::size_t i) const {
        const SendPlan& s = plan_.sends[i];
        const std::string path = fmt::format("send[{}]", i);
        name(path + ".name", s.name);
        not_reserved(path + ".name", s.name, {"all"});
        const runtime::PortPlan& port = port_of(path + ".port", s.port);
        endpoints(path + ".endpoints", s.endpoints, s.endpoint_texts);
        for (const Endpoint& endpoint : s.endpoints)
            if (endpoint.has_source())
                fail(path + ".endpoints",
                     "{} names a source, which only a receiver can choose; leave out `@{}`",
                     to_string(endpoint), to_string(endpoint.source));
        need_one_version(s.endpoints, locate_ ? locate_(path + ".endpoints") : std::string{});
        dst_mac_has_a_use(path + ".dst_mac", s);
        flavour_fits(path, s);
        for (const auto& fault : {pattern_fault(s), copy_fault(plan_, s)})
            if (fault)
                fail(fmt::format("{}.{}", path, fault->key), "{}", fault->what);
        const std::uint32_t headers = header_bytes(s);
        if (port.mtu != 0 && packet_size(s) + headers > port.mtu)
            fail(path + ".max_packet_size",
                 "packets of {} bytes and {} of IP and UDP headers do not fit the MTU {} of port `{}`; give "
                 "packets of at most {} or an MTU of at least {}",
                 packet_size(s), headers, port.mtu, port.name, port.mtu - headers, packet_size(s) + headers);
    }

    void dst_mac_has_a_use(const std::string& path, const SendPlan& s) const {
        if (!s.dst_mac)
            return;
        if (*s.dst_mac == MacAddress{})
            fail(path,
                 "00:00:00:00:00:00 is not a host's MAC address; give that of the host or of the router");
        if (std::all_of(s.endpoints.begin(), s.endpoints.end(),
                        [](const Endpoint& e) { return e.address.is_multicast(); }))
            fail(path,
                 "`dst_mac` (--dst-mac) is for unicast endpoints, and `{}` has none: a multicast group has "
                 "its own MAC "
                 "address; leave it out",
                 s.name);
    }

    void flavour_fits(const std::string& path, const SendPlan& s) const {
        const std::string bits = path + ".addr_bits";
        if (s.address_bits % 8 != 0)
            fail(bits, "`addr_bits` (--addr-bits) is {}; give a multiple of 8 from 8 to 56", s.address_bits);
        if (s.heap_size / s.items < 4)
            fail(path + ".items",
                 "{} items in heaps of {} have less than 4 bytes each; give fewer items or larger heaps",
                 s.items, human_size(s.heap_size));
        // Item ids have 63 - XX bits in SPEAD-64-XX, heap lengths and item addresses XX.
        const std::uint64_t ids = std::uint64_t{1} << (63 - s.address_bits);
        if (kFirstItemId + s.items > ids)
            fail(bits,
                 "{} address bits leave {} for item ids, too few for the ids {:#x} to {:#x}; give fewer "
                 "address bits "
                 "or items",
                 s.address_bits, 63 - s.address_bits, kFirstItemId, kFirstItemId + s.items - 1);
        if (s.from.empty() && largest_heap(s) >> s.address_bits != 0)
            fail(bits,
                 "{} address bits count up to {}, too few for heaps of {} with the descriptors of the first; "
                 "give "
                 "more address bits or smaller heaps",
                 s.address_bits, human_size((std::uint64_t{1} << s.address_bits) - 1),
                 human_size(s.heap_size));
    }

    void what_is_sent_can_be_received() const {
        for (const ReceivePlan& r : plan_.receives)
            for (std::size_t i = 0; i < plan_.sends.size(); i++) {
                const SendPlan& s = plan_.sends[i];
                const auto shared = [&](const Endpoint& e) {
                    return std::any_of(r.endpoints.begin(), r.endpoints.end(), [&](const Endpoint& have) {
                        return have.address == e.address && have.port == e.port;
                    });
                };
                if (s.port != r.port || std::none_of(s.endpoints.begin(), s.endpoints.end(), shared))
                    continue;
                const std::string path = fmt::format("send[{}]", i);
                if (!r.chunk && s.from.empty() && largest_heap(s) > r.max_bytes)
                    fail(path + ".heap_size",
                         "heaps of {}, with the descriptors of the first, are above the {} that stream `{}` "
                         "takes; send "
                         "smaller heaps or raise its limit (`max_bytes`, --max-heap-bytes)",
                         human_size(s.heap_size), human_size(r.max_bytes), r.name);
                if (s.items > kMaxHeapItems)
                    fail(path + ".items",
                         "heaps of {} items are more than stream `{}` takes: a heap may have {} item "
                         "pointers; send "
                         "fewer items",
                         s.items, r.name, kMaxHeapItems);
                if (packet_size(s) > r.max_packet_size)
                    fail(path + ".max_packet_size",
                         "packets of {} bytes are above the {} that stream `{}` takes; send smaller packets "
                         "or raise its "
                         "`max_packet_size`",
                         packet_size(s), r.max_packet_size, r.name);
            }
    }

    void end() const {
        if (plan_.runtime.live)
            return;
        if (!plan_.receives.empty()) {
            if (plan_.end.heaps != 0 && std::all_of(plan_.receives.begin(), plan_.receives.end(),
                                                    [](const ReceivePlan& r) { return r.chunk.has_value(); }))
                fail("end.heaps",
                     "`heaps` (--heaps) counts heaps that sinks get, and all streams put theirs into chunks; "
                     "use `duration` (--duration), `idle_exit` (--idle-exit) or `exit_on_stop` "
                     "(--exit-on-stop)");
            if (plan_.end.exit_on_stop && std::any_of(plan_.receives.begin(), plan_.receives.end(),
                                                      [](const ReceivePlan& r) { return !r.format.empty(); }))
                fail("end.exit_on_stop",
                     "`exit_on_stop` waits for stop items, and packets of a `format` (--format) have none; "
                     "use `duration` (--duration), `heaps` (--heaps) or `idle_exit` (--idle-exit)");
            return;
        }
        if (plan_.end.heaps != 0)
            fail("end.heaps",
                 "`heaps` counts received heaps, and the plan has no stream; use `heaps` of [[send]]");
        if (plan_.end.idle_exit != 0)
            fail("end.idle_exit",
                 "`idle_exit` needs received packets, and the plan has no stream; leave it out");
        if (plan_.end.exit_on_stop)
            fail("end.exit_on_stop",
                 "`exit_on_stop` needs a received stream, and the plan has none; leave it out");
    }

    const Plan& plan_;
    const Locator& locate_;
    const std::span<const std::string> asking_;
};

}  // namespace

void validate(const Plan& plan, const Locator& locate, std::span<const std::string> asking) {
    Rules(plan, locate, asking).check();
}

}  // namespace spead::config
