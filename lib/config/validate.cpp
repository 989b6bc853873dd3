// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/file_use.hpp"
#include "base/log.hpp"
#include "base/mac.hpp"
#include "base/units.hpp"
#include "base/utf8.hpp"
#include "config/config.hpp"
#include "config/limits.hpp"
#include "config/names.hpp"
#include "port/impairments.hpp"
#include "recv/filter_expression.hpp"

namespace spead::config {

namespace {

using runtime::Plan;
using runtime::ReceivePlan;
using runtime::SendPlan;

constexpr std::size_t kMaxName = 63;

/// The rules, each with the place that its error names.
class Rules {
  public:
    Rules(const Plan& plan, const Locator& locate) : plan_(plan), locate_(locate) {}

    void check() const {
        runtime_part();
        in_range("memory.heaps", plan_.memory.heaps, kMemoryHeaps);
        ports();
        for (std::size_t i = 0; i < plan_.receives.size(); i++)
            receive(i);
        for (std::size_t i = 0; i < plan_.sends.size(); i++)
            send(i);
        no_name_twice("receive", plan_.receives);
        no_name_twice("send", plan_.sends);
        no_endpoint_twice();
        no_file_twice();
        what_is_sent_can_be_received();
        end();
        if (plan_.receives.empty() && plan_.sends.empty() && !plan_.runtime.live)
            fail("",
                 "there is nothing to do: the plan has no stream to receive and none to send; add a "
                 "[[receive]] or a [[send]]");
    }

  private:
    template <typename... Args>
    [[noreturn]] void fail(const std::string& path, fmt::format_string<Args...> format,
                           Args&&... args) const {
        throw UsageError(locate_ ? locate_(path) : std::string{},
                         fmt::format(format, std::forward<Args>(args)...));
    }

    static std::string last_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }

    template <typename T>
    void in_range(const std::string& path, T value, Limits<T> limits) const {
        if (!limits.hold(value))
            fail(path, "`{}` is {}; give {} to {}", last_of(path), value, limits.min, limits.max);
    }

    void duration(const std::string& path, double value) const {
        if (!(value >= 0 && value <= kMaxDuration))
            fail(path, "`{}` is {} seconds; give 0 (off) to {}", last_of(path), value, kMaxDuration);
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

    /// A name that the prompt could not tell from a word of its own.
    void not_reserved(const std::string& path, const std::string& text,
                      std::initializer_list<std::string_view> words) const {
        for (const std::string_view word : words)
            if (text == word)
                fail(path,
                     "`{}` cannot be a name: at the prompt that word means something else; give another",
                     text);
    }

    void text(const std::string& path, const std::string& value) const {
        if (!is_text(value))
            fail(path, "`{}` holds bytes that are not UTF-8 text", last_of(path));
    }

    void cpus(const std::string& path, const std::vector<unsigned>& list) const {
        std::set<unsigned> seen;
        for (const unsigned cpu : list) {
            in_range(path, cpu, kCpu);
            if (!seen.insert(cpu).second)
                fail(path, "CPU {} is listed twice in `{}`", cpu, last_of(path));
        }
    }

    void runtime_part() const {
        name("runtime.name", plan_.runtime.name);
        if (plan_.runtime.main_cpu)
            in_range("runtime.main_cpu", *plan_.runtime.main_cpu, kCpu);
        cpus("runtime.lcores", plan_.runtime.lcores);
        text("runtime.log_level", plan_.runtime.log_level);
        const std::vector<std::string>& command = plan_.runtime.on_event;
        for (std::size_t i = 0; i < command.size(); i++)
            text(fmt::format("runtime.on_event[{}]", i), command[i]);
        if (!command.empty() && command.front().empty())
            fail("runtime.on_event", "the program's name is empty; give its path, then its arguments");
        if (const auto& timeout = plan_.runtime.lcore_timeout; timeout && !(*timeout == 0))
            in_range("runtime.lcore_timeout", *timeout, kLcoreTimeout);
        if (!plan_.runtime.log_level.empty())
            check_log_level(plan_.runtime.log_level, locate_ ? locate_("runtime.log_level") : std::string{});
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
            text(path + ".device", port.device);
            if (port.mtu != 0)
                in_range(path + ".mtu", port.mtu, kMtu);
            if (port.address.value >> 28 >= 0xE || port.address.value >> 24 == 127)
                fail(path + ".address",
                     "{} is no address that a host can have on a network; give port `{}` one of "
                     "its own, as in 10.0.0.5",
                     to_string(port.address), port.name);
            if (port.vlan)
                in_range(path + ".vlan", std::uint32_t{*port.vlan}, kVlan);
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
            fail(path, "there is no endpoint; give at least one, as in 239.1.2.3:7148");
        std::vector<Endpoint> from_texts;
        for (const std::string& endpoint_text : texts)
            for (const Endpoint& endpoint : parse_endpoints(endpoint_text))
                from_texts.push_back(endpoint);
        if (from_texts != list)
            fail(path, "the endpoints are not those of their texts ({} and {} of them)", list.size(),
                 from_texts.size());
        for (const Endpoint& endpoint : list)
            if (endpoint.address.value == 0)
                fail(path, "{} has no address; give a multicast group or the port's own address",
                     to_string(endpoint));
    }

    void receive(std::size_t i) const {
        const ReceivePlan& r = plan_.receives[i];
        const std::string path = fmt::format("receive[{}]", i);
        name(path + ".name", r.name);
        not_reserved(path + ".name", r.name, {"all"});
        port_of(path + ".port", r.port);
        endpoints(path + ".endpoints", r.endpoints, r.endpoint_texts);
        cpus(path + ".lcores", r.lcores);
        in_range(path + ".max_poll", r.max_poll, kMaxPoll);
        in_range(path + ".max_packet_size", r.max_packet_size, kReceivePacket);
        in_range(path + ".buffer_size", r.buffer_size, kBufferSize);
        in_range(path + ".substreams", r.substreams, kSubstreams);
        text(path + ".filter", r.filter);
        if (!r.filter.empty())
            recv::FilterExpression::parse(r.filter, locate_ ? locate_(path + ".filter") : std::string{});
        in_range(path + ".held_buffers", r.held_buffers, kHeldBuffers);
        in_range(path + ".heaps.max_live", r.max_live, kMaxLive);
        in_range(path + ".heaps.ring", r.ring, kRing);
        in_range(path + ".heaps.max_bytes", r.max_bytes, kMaxHeapBytes);
        in_range(path + ".heaps.history", r.history, kHistory);
        if (!(r.expected_rate >= 0 && r.expected_rate <= kMaxRate))
            fail(path + ".expected_rate",
                 "`expected_rate` is {} bytes per second; give 0 (nothing is expected) to {}",
                 r.expected_rate, rate_text(kMaxRate));
        duration(path + ".heaps.timeout", r.timeout);
        duration(path + ".silent_after", r.silent_after);
        in_range(path + ".loss_threshold", r.loss_threshold, kFraction);
        duration(path + ".heaps.history_time", r.history_time);
        if (r.history > 0 && r.history_time == 0)
            fail(path + ".heaps.history_time",
                 "finished heaps are remembered for no time; give a time, or `history` 0 to turn it off");
        if (r.max_bytes > plan_.memory.heaps)
            fail(path + ".heaps.max_bytes",
                 "one heap of stream `{}` may have {}, more than the {} there are for all heaps; lower the "
                 "largest heap "
                 "(`max_bytes`, --max-heap-bytes) or raise the memory (`[memory] heaps`, --memory)",
                 r.name, human_size(r.max_bytes), human_size(plan_.memory.heaps));
        text(path + ".sink.directory", r.sink.directory);
        if (r.sink.kind == runtime::SinkKind::file && r.sink.directory.empty())
            fail(path + ".sink", "a file sink needs a `directory` to write to");
        if (r.sink.kind != runtime::SinkKind::file && !r.sink.directory.empty())
            fail(path + ".sink.directory",
                 "`directory` is for a file sink, and this one is `{}`; set `kind` to `file` or leave "
                 "`directory` out",
                 name_in(kSinkKinds, r.sink.kind));
        if (r.capture)
            capture(path + ".capture", *r.capture);
    }

    void capture(const std::string& path, const capture::Options& c) const {
        if (c.files.empty() || c.files.size() > kCaptureFiles)
            fail(path + ".files", "there are {} files to capture into; give 1 to {}", c.files.size(),
                 kCaptureFiles);
        for (const std::string& file : c.files) {
            text(path + ".files", file);
            if (file.empty() || file.ends_with('/'))
                fail(path + ".files", "`{}` names no file to capture into", file);
            if (file == "-")
                fail(path + ".files",
                     "`-` is no file, and captures do not go to standard output; name a file");
        }
        in_range(path + ".rotate_size", c.rotate_size, kRotateSize);
        duration(path + ".rotate_seconds", c.rotate_seconds);
        duration(path + ".duration", c.duration);
        in_range(path + ".snap_length", c.snap_length, kSnapLength);
        in_range(path + ".count", c.count, kCaptureCount);
        in_range(path + ".buffer", c.buffer, kCaptureBuffer);
    }

    /// Two threads would write over each other.
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
                         "{} is captured into twice{}; give each capture, and each disk, its own file", file,
                         *same == file ? "" : ", once by the name " + *same);
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
        if (s.lcore)
            in_range(path + ".lcore", *s.lcore, kCpu);
        dst_mac_has_a_use(path + ".dst_mac", s);
        if (!(s.rate >= 0 && s.rate <= kMaxRate))
            fail(path + ".rate", "`rate` is {} bytes per second; give 0 (unlimited) to {}", s.rate,
                 rate_text(kMaxRate));
        in_range(path + ".burst_size", s.burst_size, kBurstSize);
        in_range(path + ".burst_rate_ratio", s.burst_rate_ratio, kBurstRateRatio);
        in_range(path + ".ttl", std::uint32_t{s.ttl}, kTtl);
        in_range(path + ".dscp", std::uint32_t{s.dscp}, kDscp);
        in_range(path + ".max_packet_size", s.max_packet_size, kSendPacket);
        in_range(path + ".heap_size", s.heap_size, kHeapSize);
        in_range(path + ".items", s.items, kItems);
        in_range(path + ".heaps", s.heaps, kSendHeaps);
        in_range(path + ".max_heaps", s.max_heaps, kInFlight);
        duration(path + ".timeout", s.timeout);
        in_range(path + ".first_count", s.first_count, kHeapCount);
        in_range(path + ".count_step", s.count_step, kCountStep);
        in_range(path + ".addr_bits", std::uint32_t{s.address_bits}, kAddressBits);
        text(path + ".impair", s.impair);
        port::Impairments::parse(s.impair, locate_ ? locate_(path + ".impair") : std::string{});
        flavour_fits(path, s);
        if (port.mtu != 0 && s.max_packet_size + kIpUdpHeaders > port.mtu)
            fail(path + ".max_packet_size",
                 "packets of {} bytes and {} of IP and UDP headers do not fit the MTU {} of port `{}`; give "
                 "packets of at most {} "
                 "or an MTU of at least {}",
                 s.max_packet_size, kIpUdpHeaders, port.mtu, port.name, port.mtu - kIpUdpHeaders,
                 s.max_packet_size + kIpUdpHeaders);
    }

    void dst_mac_has_a_use(const std::string& path, const SendPlan& s) const {
        if (!s.dst_mac)
            return;
        if (*s.dst_mac == MacAddress{})
            fail(path, "00:00:00:00:00:00 is nobody's MAC address; give that of the host or of the router");
        if (std::all_of(s.endpoints.begin(), s.endpoints.end(),
                        [](const Endpoint& e) { return e.address.is_multicast(); }))
            fail(path,
                 "`dst_mac` is for unicast endpoints, and `{}` has none: a multicast group has its own MAC "
                 "address; leave it out",
                 s.name);
    }

    void flavour_fits(const std::string& path, const SendPlan& s) const {
        const std::string bits = path + ".addr_bits";
        if (s.address_bits % 8 != 0)
            fail(bits, "`addr_bits` is {}; give a multiple of 8 from 8 to 56", s.address_bits);
        if (s.heap_size / s.items < 4)
            fail(path + ".items",
                 "{} items in heaps of {} leave less than 4 bytes to each; give fewer items or larger heaps",
                 s.items, human_size(s.heap_size));
        // Item ids have 63 - XX bits in SPEAD-64-XX, heap lengths and item addresses XX.
        const std::uint64_t ids = std::uint64_t{1} << (63 - s.address_bits);
        if (kFirstItemId + s.items > ids)
            fail(bits,
                 "{} address bits leave {} for item ids, too few for the ids {:#x} to {:#x}; give fewer "
                 "address bits "
                 "or items",
                 s.address_bits, 63 - s.address_bits, kFirstItemId, kFirstItemId + s.items - 1);
        if (largest_heap(s) >> s.address_bits != 0)
            fail(bits,
                 "{} address bits count up to {}, too few for heaps of {} with the descriptors of the first; "
                 "give "
                 "more address bits or smaller heaps",
                 s.address_bits, human_size((std::uint64_t{1} << s.address_bits) - 1),
                 human_size(s.heap_size));
    }

    /// Which of the stream's endpoint texts the endpoint came from, for the error's place.
    std::string text_path(std::size_t stream, const Endpoint& endpoint) const {
        const auto& texts = plan_.receives[stream].endpoint_texts;
        for (std::size_t k = texts.size(); k-- > 0;) {
            const auto expanded = parse_endpoints(texts[k]);
            if (std::find(expanded.begin(), expanded.end(), endpoint) != expanded.end())
                return fmt::format("receive[{}].endpoints[{}]", stream, k);
        }
        return fmt::format("receive[{}].endpoints", stream);
    }

    void no_endpoint_twice() const {
        struct Taken {
            std::size_t stream;
            Endpoint endpoint;
        };
        std::map<std::tuple<std::string, std::uint32_t, std::uint16_t>, std::vector<Taken>> taken;
        for (std::size_t i = 0; i < plan_.receives.size(); i++) {
            const ReceivePlan& r = plan_.receives[i];
            for (const Endpoint& e : r.endpoints) {
                auto& others = taken[{r.port, e.address.value, e.port}];
                for (const Taken& other : others) {
                    if (e.has_source() && other.endpoint.has_source() && e.source != other.endpoint.source)
                        continue;
                    const std::string what = e == other.endpoint
                                                 ? fmt::format("{} is", to_string(e))
                                                 : fmt::format("{} overlaps {}, which is", to_string(e),
                                                               to_string(other.endpoint));
                    const ReceivePlan& owner = plan_.receives[other.stream];
                    if (other.stream == i)
                        fail(text_path(i, e), "{} already in stream `{}`; name each address once", what,
                             r.name);
                    fail(text_path(i, e),
                         "{} already received by stream `{}`; a packet can belong to one stream only", what,
                         owner.name);
                }
                others.push_back({i, e});
            }
        }
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
                if (largest_heap(s) > r.max_bytes)
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
                if (s.max_packet_size > r.max_packet_size)
                    fail(path + ".max_packet_size",
                         "packets of {} bytes are above the {} that stream `{}` takes; send smaller packets "
                         "or raise its "
                         "`max_packet_size`",
                         s.max_packet_size, r.max_packet_size, r.name);
            }
    }

    void end() const {
        in_range("end.heaps", plan_.end.heaps, kEndHeaps);
        duration("end.duration", plan_.end.duration);
        duration("end.idle_exit", plan_.end.idle_exit);
        if (!plan_.receives.empty() || plan_.runtime.live)
            return;
        if (plan_.end.heaps != 0)
            fail("end.heaps", "`heaps` counts heaps received, and nothing is; use `heaps` of [[send]]");
        if (plan_.end.idle_exit != 0)
            fail("end.idle_exit", "`idle_exit` is about packets received, and nothing is; leave it out");
        if (plan_.end.exit_on_stop)
            fail("end.exit_on_stop",
                 "`exit_on_stop` is about streams received, and there are none; leave it out");
    }

    const Plan& plan_;
    const Locator& locate_;
};

}  // namespace

void validate(const Plan& plan, const Locator& locate) {
    Rules(plan, locate).check();
}

}  // namespace spead::config
