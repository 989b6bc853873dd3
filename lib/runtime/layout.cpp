// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/layout.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sched.h>
#include <set>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "heap/window.hpp"
#include "memory/arena.hpp"
#include "memory/mapping.hpp"
#include "recv/distributor.hpp"
#include "runtime/link_host.hpp"
#include "runtime/next_hops.hpp"
#include "runtime/numa.hpp"
#include "runtime/runtime_dir.hpp"

namespace spead::runtime {

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
/// What EAL itself, rings and device structures take.
constexpr std::size_t kEalBase = 24 * kMiB;

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& names) {
    return std::any_of(names.begin(), names.end(), [word](std::string_view name) {
        return word == name ||
               (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=') ||
               (name.size() == 2 && name[1] != '-' && word.starts_with(name));
    });
}

std::size_t read_number(const std::string& path) {
    std::ifstream file(path);
    std::size_t n = 0;
    file >> n;
    return file ? n : 0;
}

std::size_t free_huge_bytes() {
    std::size_t bytes = 0;
    for (const std::size_t kib : {2048U, 1048576U})
        bytes += read_number(fmt::format("/sys/kernel/mm/hugepages/hugepages-{}kB/free_hugepages", kib)) *
                 kib * 1024;
    return bytes;
}

/// A CPU for each port that receives and each sender, in the order of the plan.
class Assignment {
  public:
    Assignment(const Plan& plan, const EalOptions& options, Layout& layout)
        : layout_(layout), user_lcores_(options.has_lcores) {
        layout_.allowed_cpus = allowed_cpus();
        layout_.main_cpu = plan.runtime.main_cpu.value_or(layout_.allowed_cpus.front());
        check(layout_.main_cpu, "runtime main_cpu");
        for (const unsigned cpu : plan.runtime.lcores)
            check(cpu, "runtime lcores");
        workers_ = plan.runtime.lcores.empty() ? layout_.allowed_cpus : plan.runtime.lcores;
        if (plan.runtime.lcores.empty() && workers_.size() > 1)
            std::erase(workers_, layout_.main_cpu);
        // What the plan gives to one stream is not chosen for another, unless nothing else is left.
        std::vector<unsigned> free = workers_;
        for (const ReceivePlan& r : plan.receives)
            for (const unsigned cpu : r.lcores)
                std::erase(free, cpu);
        for (const SendPlan& s : plan.sends)
            if (s.lcore)
                std::erase(free, *s.lcore);
        if (!free.empty())
            workers_ = free;
    }

    unsigned pick() {
        const unsigned cpu = workers_[next_ % workers_.size()];
        next_++;
        return cpu;
    }

    WorkerLayout& worker(unsigned cpu, bool named) {
        auto found = std::find_if(layout_.workers.begin(), layout_.workers.end(),
                                  [cpu](const WorkerLayout& w) { return w.cpu == cpu; });
        if (found == layout_.workers.end()) {
            found = layout_.workers.emplace(layout_.workers.end());
            found->cpu = found->planned_cpu = cpu;
        }
        found->named |= named;
        return *found;
    }

    void check(unsigned cpu, const std::string& where) const {
        const std::vector<unsigned>& allowed = layout_.allowed_cpus;
        if (!user_lcores_ && std::find(allowed.begin(), allowed.end(), cpu) == allowed.end())
            throw_usage(where, "CPU {} is not one this process may use: {}", cpu, fmt::join(allowed, ","));
    }

  private:
    Layout& layout_;
    bool user_lcores_;
    std::vector<unsigned> workers_;
    std::size_t next_ = 0;
};

/// CPUs of each stream, and of all streams of each port, none twice.
struct StreamCpus {
    std::vector<std::vector<unsigned>> of_stream;  ///< as Plan::receives
    std::vector<std::vector<unsigned>> of_port;    ///< as Plan::ports
};

void add_once(std::vector<unsigned>& cpus, unsigned cpu) {
    if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end())
        cpus.push_back(cpu);
}

/// Streams that name no lcore are where the first of their port is that does, or share one of their own.
StreamCpus cpus_of_streams(const Plan& plan, Assignment& assignment) {
    StreamCpus cpus;
    cpus.of_port.resize(plan.ports.size());
    std::map<std::string, unsigned> first;
    for (const ReceivePlan& r : plan.receives)
        if (!r.lcores.empty())
            first.try_emplace(r.port, r.lcores.front());
    for (const ReceivePlan& r : plan.receives) {
        std::vector<unsigned>& mine = cpus.of_stream.emplace_back();
        for (const unsigned cpu : r.lcores) {
            assignment.check(cpu, fmt::format("receive {} lcores", r.name));
            add_once(mine, cpu);
        }
        if (mine.empty()) {
            if (!first.contains(r.port))
                first[r.port] = assignment.pick();
            mine.push_back(first[r.port]);
        }
        for (std::size_t p = 0; p < plan.ports.size(); p++)
            if (plan.ports[p].name == r.port)
                for (const unsigned cpu : mine)
                    add_once(cpus.of_port[p], cpu);
    }
    // The lcore of a stream that names none is chosen only when there is no other.
    for (std::size_t i = 0; i < plan.receives.size(); i++)
        if (!plan.receives[i].lcores.empty())
            for (const unsigned cpu : cpus.of_stream[i])
                assignment.worker(cpu, true);
    return cpus;
}

/// Where we are the IGMP and ARP host, the port needs a transmit queue for that, and for the answers to what
/// a sender asks a receive queue, too.
void add_host_queues(const Plan& plan, const port::Driver& driver, port::PortRequest& request) {
    if (driver.declared().membership != port::Membership::own_host)
        return;
    request.tx_queues++;
    request.max_tx_packet = std::max(request.max_tx_packet, LinkHost::kMaxPacket);
    const bool asks = std::any_of(plan.sends.begin(), plan.sends.end(), [&request](const SendPlan& s) {
        return s.port == request.name && needs_next_hops(s);
    });
    if (asks && request.rx_queues == 0) {
        request.rx_queues = 1;
        request.max_rx_packet = LinkHost::kMaxPacket;
    }
}

void plan_ports(const Plan& plan, const EalOptions& options, std::span<const port::Driver* const> drivers,
                const StreamCpus& cpus, const port::Host& host, Layout& layout) {
    std::vector<port::PortRequest> requests;
    for (std::size_t i = 0; i < plan.ports.size(); i++) {
        const PortPlan& p = plan.ports[i];
        port::PortRequest request;
        request.name = p.name;
        request.device = p.device;
        request.mtu = p.mtu;
        request.vlan = p.vlan;
        request.max_rx_packet = 0;
        request.rx_queues = static_cast<std::uint16_t>(cpus.of_port[i].size());
        request.fewer_queues_do = true;
        if (cpus.of_port[i].size() > 1)
            request.held_mbufs =
                static_cast<std::uint32_t>(cpus.of_port[i].size() - 1) * recv::Distributor::kRingEntries;
        for (const ReceivePlan& r : plan.receives)
            if (r.port == p.name) {
                request.interrupts |= r.poll == PollMode::interrupt;
                request.max_rx_packet = std::max(request.max_rx_packet, r.max_packet_size);
                request.buffer_size = std::max<std::size_t>(request.buffer_size, r.buffer_size);
            }
        for (const SendPlan& s : plan.sends)
            if (s.port == p.name) {
                request.tx_queues++;
                request.max_tx_packet = std::max(request.max_tx_packet, s.max_packet_size);
            }
        requests.push_back(std::move(request));
    }
    layout.ports = port::plan_ports(
        requests, drivers, options.devices, host,
        [&plan](const port::Driver& driver, port::PortRequest& r) { add_host_queues(plan, driver, r); });
    for (const port::PlannedPort& p : layout.ports)
        layout.remarks.insert(layout.remarks.end(), p.device.remarks.begin(), p.device.remarks.end());
}

void remark_workers(const Plan& plan, const Layout& layout, std::size_t port, const Spread& spread,
                    std::vector<std::string>& remarks) {
    std::vector<std::string> shared;
    for (const QueueLayout& q : spread.queues)
        for (const Delivery& d : q.deliveries) {
            std::string text =
                fmt::format("{} to CPU {}", plan.receives[d.receive].name, fmt::join(d.cpus, ", "));
            const bool passed = d.cpus.size() > 1 || d.cpus.front() != q.cpu;
            if (passed && std::find(shared.begin(), shared.end(), text) == shared.end())
                shared.push_back(std::move(text));
        }
    const auto queues = layout.ports[port].request.rx_queues;
    remarks.push_back(
        fmt::format("port {} has {} receive queue{}: packets are passed on between lcores, heap by heap "
                    "({})",
                    plan.ports[port].name, queues, queues == 1 ? "" : "s", fmt::join(shared, "; ")));
}

/// Deals the streams of every port over its queues and their lcores.
void spread_streams(const Plan& plan, const StreamCpus& cpus, Assignment& assignment, Layout& layout) {
    for (std::size_t p = 0; p < plan.ports.size(); p++) {
        std::vector<StreamOnPort> streams;
        for (std::size_t i = 0; i < plan.receives.size(); i++)
            if (plan.receives[i].port == plan.ports[p].name)
                streams.push_back({i, plan.receives[i].endpoints, cpus.of_stream[i]});
        if (streams.empty())
            continue;
        const port::PlannedPort& planned = layout.ports[p];
        Spread s = spread(p, planned.device.capabilities, cpus.of_port[p], planned.request.rx_queues, streams,
                          planned.request.vlan);
        if (s.by_heap_count)
            remark_workers(plan, layout, p, s, layout.remarks);
        layout.queues.insert(layout.queues.end(), s.queues.begin(), s.queues.end());
        layout.rules.insert(layout.rules.end(), s.rules.begin(), s.rules.end());
    }
    for (const QueueLayout& q : layout.queues)
        assignment.worker(q.cpu, false);
    for (std::size_t i = 0; i < plan.receives.size(); i++)
        for (const QueueLayout& q : layout.queues)
            for (const Delivery& d : q.deliveries)
                if (d.receive == i)
                    for (const unsigned cpu : d.cpus) {
                        WorkerLayout& worker = assignment.worker(cpu, false);
                        if (std::find(worker.receives.begin(), worker.receives.end(), i) ==
                            worker.receives.end())
                            worker.receives.push_back(i);
                        worker.largest_heap = std::max(worker.largest_heap, plan.receives[i].max_bytes);
                    }
}

void assign_senders(const Plan& plan, Assignment& assignment) {
    for (std::size_t i = 0; i < plan.sends.size(); i++) {
        const SendPlan& s = plan.sends[i];
        const unsigned cpu = s.lcore ? *s.lcore : assignment.pick();
        assignment.check(cpu, fmt::format("send {} lcore", s.name));
        assignment.worker(cpu, s.lcore.has_value()).sends.push_back(i);
    }
}

/// Where nothing else is received, a sender's lcore polls the port for the answers to what is asked.
void poll_for_answers(const Plan& plan, Layout& layout) {
    for (std::size_t p = 0; p < plan.ports.size(); p++) {
        const bool polled = std::any_of(layout.queues.begin(), layout.queues.end(),
                                        [p](const QueueLayout& q) { return q.port == p; });
        if (polled || layout.ports[p].request.rx_queues == 0)
            continue;
        for (const WorkerLayout& w : layout.workers)
            if (std::any_of(w.sends.begin(), w.sends.end(),
                            [&](std::size_t s) { return plan.sends[s].port == plan.ports[p].name; })) {
                layout.queues.push_back({p, 0, w.planned_cpu, {}});
                break;
            }
    }
}

void number_lcores(Layout& layout) {
    unsigned lcore = 1;
    std::set<unsigned> cpus{layout.main_cpu};
    for (WorkerLayout& w : layout.workers) {
        w.lcore = lcore++;
        layout.shares_cpus |= !cpus.insert(w.cpu).second;
    }
    if (layout.shares_cpus)
        layout.remarks.push_back(fmt::format("{} lcores share {} CPUs: idle lcores yield to each other",
                                             layout.workers.size() + 1, cpus.size()));
}

bool has_own_host(const port::PlannedPort& p) {
    return p.device.capabilities.membership == port::Membership::own_host;
}

/// Unicast packets come only to who answers for their address.
void remark_addresses(const Plan& plan, Layout& layout) {
    for (const ReceivePlan& r : plan.receives) {
        if (!has_own_host(layout.port(r.port)))
            continue;
        const Ipv4 own = std::find_if(plan.ports.begin(), plan.ports.end(), [&r](const PortPlan& p) {
                             return p.name == r.port;
                         })->address;
        for (const Endpoint& e : r.endpoints)
            if (!e.address.is_multicast() && e.address != own)
                layout.remarks.push_back(fmt::format(
                    "receive {}: nobody answers ARP requests for {}, as the address of port {} is {}; set it "
                    "with "
                    "`address` of the [[port]] (--address), unless its senders know the port's MAC address",
                    r.name, to_string(e), r.port, own.value == 0 ? "not given" : to_string(own)));
    }
}

heap::WindowConfig window_size(const ReceivePlan& r) {
    heap::WindowConfig c;
    c.substreams = r.substreams;
    c.max_live = r.max_live;
    c.history = r.history;
    return c;
}

}  // namespace

EalOptions EalOptions::parse(std::vector<std::string> words) {
    static constexpr std::array<std::string_view, 6> lcores{"-l",           "-c", "--lcores",
                                                            "--main-lcore", "-s", "-S"};
    static constexpr std::array<std::string_view, 10> memory{
        "--no-huge",           "--in-memory",        "--socket-mem",  "--socket-limit",
        "--legacy-mem",        "--huge-dir",         "--huge-unlink", "--single-file-segments",
        "--match-allocations", "--huge-worker-stack"};
    static constexpr std::array<std::string_view, 1> amount{"-m"};
    static constexpr std::array<std::string_view, 2> naming{"--file-prefix", "--no-shconf"};
    static constexpr std::array<std::string_view, 6> bus{"-a", "-b", "--allow", "--block", "--no-pci", "-w"};
    static constexpr std::array<std::string_view, 2> block{"-b", "--block"};
    static constexpr std::array<std::string_view, 1> log{"--log-level"};
    EalOptions o;
    for (std::size_t i = 0; i < words.size(); i++) {
        const std::string_view word = words[i];
        o.has_lcores |= is_one_of(word, lcores);
        o.has_memory |= is_one_of(word, memory);
        o.has_amount |= is_one_of(word, amount);
        o.has_naming |= is_one_of(word, naming);
        o.has_bus |= is_one_of(word, bus);
        o.has_log |= is_one_of(word, log);
        o.has_block |= is_one_of(word, block);
        o.has_no_pci |= word == "--no-pci";
        for (const std::string_view option : {"--vdev", "--allow", "-a"}) {
            if (word == option && i + 1 < words.size())
                o.devices.push_back(words[i + 1]);
            else if (word.starts_with(option) && word.size() > option.size() &&
                     (option.size() == 2 || word[option.size()] == '='))
                o.devices.emplace_back(word.substr(option.size() + (option.size() == 2 ? 0 : 1)));
        }
    }
    o.words = std::move(words);
    return o;
}

const port::PlannedPort& Layout::port(std::string_view name) const {
    const auto found = std::find_if(ports.begin(), ports.end(),
                                    [name](const port::PlannedPort& p) { return p.request.name == name; });
    if (found == ports.end())
        throw_error(std::string(name), "there is no such port");
    return *found;
}

std::size_t Layout::worker_on(unsigned cpu) const {
    const auto found = std::find_if(workers.begin(), workers.end(),
                                    [cpu](const WorkerLayout& w) { return w.planned_cpu == cpu; });
    if (found == workers.end())
        throw_error("runtime", "there is no lcore on CPU {}", cpu);
    return static_cast<std::size_t>(found - workers.begin());
}

std::vector<unsigned> Layout::control_cpus() const {
    std::vector<unsigned> cpus;
    std::copy_if(allowed_cpus.begin(), allowed_cpus.end(), std::back_inserter(cpus), [this](unsigned cpu) {
        return std::none_of(workers.begin(), workers.end(),
                            [cpu](const WorkerLayout& w) { return w.cpu == cpu; });
    });
    if (cpus.empty())
        cpus.push_back(main_cpu);
    return cpus;
}

std::vector<unsigned> allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<unsigned> cpus;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &set))
                cpus.push_back(cpu);
    if (cpus.empty())
        cpus.push_back(0);
    return cpus;
}

send::SenderConfig sender_config(const SendPlan& plan, const port::PlannedPort& port) {
    send::SenderConfig c;
    c.name = plan.name;
    for (const Endpoint& e : plan.endpoints)
        c.destinations.push_back({e, e.address.is_multicast() ? std::nullopt : plan.dst_mac});
    c.ttl = plan.ttl;
    c.dscp = plan.dscp;
    c.vlan = port.request.vlan;
    c.max_packet_size = plan.max_packet_size;
    c.pacing.rate = plan.rate;
    c.pacing.burst_size = plan.burst_size;
    c.pacing.burst_rate_ratio = plan.burst_rate_ratio;
    c.max_heaps = plan.max_heaps;
    c.first_cnt = plan.first_count;
    c.cnt_step = plan.count_step;
    switch (plan.zero_copy) {
        case ZeroCopy::automatic:
            c.zero_copy = send::ZeroCopy::automatic;
            break;
        case ZeroCopy::always:
            c.zero_copy = send::ZeroCopy::always;
            break;
        case ZeroCopy::never:
            c.zero_copy = send::ZeroCopy::never;
            break;
    }
    c.udp_checksum = plan.udp_checksum;
    c.capabilities = port.device.capabilities;
    c.tx_descriptors = port.device.tx.descriptors;
    return c;
}

Layout lay_out(const Plan& plan, const EalOptions& options, std::span<const port::Driver* const> drivers,
               const port::Host& host) {
    Layout layout;
    Assignment assignment(plan, options, layout);
    const StreamCpus cpus = cpus_of_streams(plan, assignment);
    plan_ports(plan, options, drivers, cpus, host, layout);
    for (const SendPlan& s : plan.sends)
        check_next_hops(s, layout.port(s.port));
    remark_addresses(plan, layout);
    spread_streams(plan, cpus, assignment, layout);
    assign_senders(plan, assignment);
    poll_for_answers(plan, layout);
    number_lcores(layout);
    for (const FarWorker& far : far_workers(host, layout, plan))
        layout.remarks.push_back(
            fmt::format("CPU {} is on NUMA node {}, port {} on node {}: packets cross between the sockets; "
                        "name CPUs of node {}",
                        far.cpu, far.cpu_node, far.port, far.port_node, far.port_node));

    layout.eal_bytes = kEalBase;
    for (const port::PlannedPort& p : layout.ports)
        layout.eal_bytes +=
            p.device.eal_bytes() + (has_own_host(p) ? LinkHost::memory_need(p.device.tx.descriptors) : 0);
    for (const SendPlan& s : plan.sends) {
        layout.eal_bytes += send::Sender::memory_need(sender_config(s, layout.port(s.port))).bytes;
        layout.send_bytes += (std::size_t{s.max_heaps} + 1) * s.heap_size;
    }
    layout.eal_bytes += layout.eal_bytes / 8;
    std::size_t shares = 0;
    for (const WorkerLayout& w : layout.workers)
        shares += w.receives.size();
    for (WorkerLayout& w : layout.workers)
        if (!w.receives.empty()) {
            w.heap_bytes =
                memory::Arena::capacity_for(plan.memory.heaps / shares * w.receives.size(), w.largest_heap);
            layout.heap_bytes += w.heap_bytes;
        }
    if (layout.heap_bytes > plan.memory.heaps)
        layout.remarks.push_back(
            fmt::format("heaps take {} instead of {}: each lcore has room for whole largest heaps, in powers "
                        "of two",
                        human_size(layout.heap_bytes), human_size(plan.memory.heaps)));
    for (const WorkerLayout& w : layout.workers)
        for (const std::size_t i : w.receives)
            layout.bookkeeping_bytes +=
                heap::Window::bookkeeping_bytes(window_size(plan.receives[i]), plan.receives[i].ring);

    const std::size_t huge = free_huge_bytes();
    const bool eal_huge = !options.has_memory && huge >= layout.eal_bytes;
    const std::size_t ordinary = layout.heap_bytes + layout.bookkeeping_bytes + layout.send_bytes +
                                 (eal_huge || options.has_memory ? 0 : layout.eal_bytes);
    if (const std::size_t available = memory::available_memory();
        available != 0 && ordinary > available + huge)
        throw_error("memory",
                    "this run does not fit: {} MiB for heaps + {} MiB for windows and queues + {} MiB of "
                    "payload to send + {} MiB for EAL = {} MiB, and {} MiB are available; lower {}",
                    layout.heap_bytes / kMiB, layout.bookkeeping_bytes / kMiB, layout.send_bytes / kMiB,
                    (ordinary - layout.heap_bytes - layout.bookkeeping_bytes - layout.send_bytes) / kMiB,
                    ordinary / kMiB, available / kMiB,
                    plan.receives.empty()
                        ? "the heaps in flight: their size (--heap-size) or their number (max_heaps)"
                        : "[memory] heaps (--memory), the rings, or the packet buffers (--buffer-size)");

    std::string lcores = fmt::format("{}@{}", layout.main_lcore, layout.main_cpu);
    for (const WorkerLayout& w : layout.workers)
        lcores += fmt::format(",{}@{}", w.lcore, w.cpu);
    layout.eal_args =
        eal_arguments(options, lcores, layout.eal_bytes, plan.runtime.name, BusNeeds::of(layout.ports), true);
    return layout;
}

BusNeeds BusNeeds::of(std::span<const port::PlannedPort> ports) {
    BusNeeds needs;
    for (const port::PlannedPort& p : ports) {
        needs.pci |= p.device.pci;
        needs.physical_addresses |= p.device.physical_addresses;
    }
    return needs;
}

std::vector<std::string> eal_arguments(const EalOptions& options, const std::string& lcores,
                                       std::size_t eal_bytes, const std::string& name, const BusNeeds& bus,
                                       bool telemetry) {
    if (bus.pci && options.has_no_pci)
        throw_usage("EAL",
                    "--no-pci keeps EAL from the card that a port names; leave it out (no card but those of "
                    "the ports is touched)");
    if (bus.pci && options.has_block)
        throw_usage("EAL",
                    "-b makes EAL take every other card; leave it out (no card but those of the ports is "
                    "touched)");
    std::vector<std::string> args = options.words;
    if (!options.has_lcores)
        args.insert(args.end(), {"--lcores", lcores, "--main-lcore", "0"});
    if (!options.has_memory) {
        if (free_huge_bytes() >= eal_bytes) {
            args.emplace_back("--in-memory");
        } else if (!bus.pci) {
            args.emplace_back("--no-huge");
            if (!options.has_amount)
                args.insert(args.end(), {"-m", std::to_string((eal_bytes + kMiB - 1) / kMiB)});
            if (!options.has_naming)
                args.emplace_back("--no-shconf");
        } else {
            throw_error("memory",
                        "a PCI device needs {} MiB of huge pages and {} MiB are free; run `sysctl -w "
                        "vm.nr_hugepages={}`",
                        eal_bytes / kMiB, free_huge_bytes() / kMiB, (eal_bytes + 2 * kMiB - 1) / (2 * kMiB));
        }
    }
    const auto given = [&](std::string_view option) {
        return std::any_of(options.words.begin(), options.words.end(),
                           [option](const std::string& w) { return w.starts_with(option); });
    };
    const std::string prefix = fmt::format("{}.{}", name, getpid());
    if (!options.has_naming) {
        args.insert(args.end(), {"--file-prefix", prefix});
        // Under a name that no other process uses, huge pages would stay behind for ever. EAL takes this
        // option with none of those.
        if (options.has_memory && !given("--no-huge") && !given("--in-memory") && !given("--huge-unlink") &&
            !given("--single-file-segments"))
            args.emplace_back("--huge-unlink=always");
    }
    if (!options.has_bus && bus.pci)
        args.insert(args.end(), {"-a", "0000:00:00.0"});
    else if (!options.has_bus)
        args.emplace_back("--no-pci");
    if (!options.has_log)
        // Telemetry warns that it has no socket of its older kind; of several patterns the first counts.
        args.insert(args.end(), {"--log-level=lib.telemetry:error", "--log-level=lib.*:warning"});
    if (!given("--iova-mode"))
        args.emplace_back(bus.physical_addresses ? "--iova-mode=pa" : "--iova-mode=va");
    if (!given("--telemetry") && !given("--no-telemetry"))
        args.emplace_back(telemetry && telemetry_socket_fits(prefix) ? "--telemetry" : "--no-telemetry");
    return args;
}

std::string describe(const Layout& layout, const Plan& plan) {
    std::string text = fmt::format("main lcore {} on CPU {}\n", layout.main_lcore, layout.main_cpu);
    for (const WorkerLayout& w : layout.workers) {
        text += fmt::format("lcore {} on CPU {}:", w.lcore, w.cpu);
        for (const std::size_t i : w.receives)
            text += fmt::format(" receive {} ({})", plan.receives[i].name, plan.receives[i].port);
        for (const std::size_t i : w.sends)
            text += fmt::format(" send {} ({})", plan.sends[i].name, plan.sends[i].port);
        text += '\n';
    }
    for (const port::PlannedPort& p : layout.ports) {
        text += fmt::format("port {}: {}\n", p.request.name, p.device.devargs);
        if (p.request.rx_queues != 0)
            text += fmt::format("  receive queue: {}\n", port::to_string(p.device.rx));
        if (p.request.tx_queues != 0)
            text += fmt::format("  transmit queue: {}\n", port::to_string(p.device.tx));
    }
    text +=
        fmt::format("memory: {} for heaps, {} for windows and queues, {} of payload to send, {} for EAL\n",
                    human_size(layout.heap_bytes), human_size(layout.bookkeeping_bytes),
                    human_size(layout.send_bytes), human_size(layout.eal_bytes));
    for (const std::string& remark : layout.remarks)
        text += remark + '\n';
    text += fmt::format("EAL arguments: {}\n", fmt::join(layout.eal_args, " "));
    return text;
}

}  // namespace spead::runtime
