// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/layout.hpp"

#include <algorithm>
#include <map>
#include <sched.h>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "heap/window.hpp"
#include "memory/arena.hpp"
#include "memory/mapping.hpp"
#include "recv/distributor.hpp"
#include "runtime/layout_ports.hpp"
#include "runtime/layout_remarks.hpp"
#include "runtime/link_host.hpp"
#include "runtime/next_hops.hpp"
#include "runtime/numa.hpp"
#include "runtime/paths.hpp"
#include "runtime/plan_files.hpp"
#include "runtime/runtime_dir.hpp"

namespace spead::runtime {

namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
/// Holds the memory of EAL itself, rings and device structures.
constexpr std::size_t kEalBase = 24 * kMebibyte;

/// Assigns a CPU to each port that receives and each sender, in the order of the plan.
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
        // CPUs that the plan gives to one stream are not chosen for another, unless nothing else is left.
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
            throw_error(where, "CPU {} is not one of the CPUs that this process may use: {}", cpu,
                        fmt::join(allowed, ","));
    }

  private:
    Layout& layout_;
    bool user_lcores_;
    std::vector<unsigned> workers_;
    std::size_t next_ = 0;
};

/// Holds the CPUs of each stream, and of all streams of each port, none twice.
struct StreamCpus {
    std::vector<std::vector<unsigned>> of_stream;  ///< as Plan::receives
    std::vector<std::vector<unsigned>> of_port;    ///< as Plan::ports
};

bool sends_on(const Plan& plan, const std::string& port) {
    return std::any_of(plan.sends.begin(), plan.sends.end(),
                       [&port](const SendPlan& s) { return s.port == port; });
}

/// Returns whether all streams went to other shards. Its ports and lcores are there for streams that come,
/// though they send as those of all shards do.
bool is_empty_shard(const Plan& plan) {
    return plan.shard.count > 1 && plan.receives.empty();
}

/// Assigns the lcore of the port's first stream with a named lcore to streams that name none. Without such a
/// stream they share a new one.
StreamCpus cpus_of_streams(const Plan& plan, Assignment& assignment) {
    StreamCpus cpus;
    cpus.of_port.resize(plan.ports.size());
    std::map<std::string, unsigned> first;
    for (const ReceivePlan& r : plan.receives)
        if (!r.lcores.empty())
            for_each_path(r, [&](std::size_t, const std::string& port, const auto&) {
                first.try_emplace(port, r.lcores.front());
            });
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
            if (receives_on(r, plan.ports[p].name))
                for (const unsigned cpu : mine)
                    add_once(cpus.of_port[p], cpu);
    }
    // A port without streams gets its receive queue for those that come.
    if (plan.runtime.live)
        for (std::size_t p = 0; p < plan.ports.size(); p++)
            if (cpus.of_port[p].empty() && (is_empty_shard(plan) || !sends_on(plan, plan.ports[p].name)))
                cpus.of_port[p].push_back(assignment.pick());
    // The lcore of a stream that names none is chosen only when there is no other.
    for (std::size_t i = 0; i < plan.receives.size(); i++)
        if (!plan.receives[i].lcores.empty())
            for (const unsigned cpu : cpus.of_stream[i])
                assignment.worker(cpu, true);
    return cpus;
}

void remark_workers(const Plan& plan, const Layout& layout, std::size_t port, const PortAssignment& assigned,
                    std::vector<std::string>& remarks) {
    std::vector<std::string> shared;
    for (const QueueLayout& q : assigned.queues)
        for (const Delivery& d : q.deliveries) {
            std::string text =
                fmt::format("{} to CPU {}", plan.receives[d.receive].name, fmt::join(d.cpus, ", "));
            const bool passed = d.cpus.size() > 1 || d.cpus.front() != q.cpu;
            if (passed && std::find(shared.begin(), shared.end(), text) == shared.end())
                shared.push_back(std::move(text));
        }
    const auto queues = layout.ports[port].request.rx_queues;
    remarks.push_back(
        fmt::format("port {} has {}: packets are passed on between lcores, heap by heap "
                    "({})",
                    plan.ports[port].name, counted(queues, "receive queues"), fmt::join(shared, "; ")));
}

/// Returns whether streams may be added to the lcore during the run. An lcore that only sends needs no heap
/// memory, unless the plan names it for all.
bool may_receive(const Plan& plan, const WorkerLayout& w) {
    const std::vector<unsigned>& named = plan.runtime.lcores;
    if (plan.runtime.live && std::find(named.begin(), named.end(), w.planned_cpu) != named.end())
        return true;
    const bool waiting = plan.runtime.live ||
                         std::any_of(plan.receives.begin(), plan.receives.end(), [](const ReceivePlan& r) {
                             return !r.enabled && shares_heap_memory(r);
                         });
    return waiting && (!w.receives.empty() || w.sends.empty() || is_empty_shard(plan));
}

/// Assigns the streams of every port to its queues and their lcores.
void assign_streams(const Plan& plan, const StreamCpus& cpus, Assignment& assignment, Layout& layout) {
    for (std::size_t p = 0; p < plan.ports.size(); p++) {
        if (cpus.of_port[p].empty())
            continue;
        const port::PlannedPort& planned = layout.ports[p];
        PortAssignment s =
            assign_queues(p, planned.device.capabilities, cpus.of_port[p], planned.request.rx_queues,
                          streams_on(plan, plan.ports[p].name, cpus.of_stream), planned.request.vlan);
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
                        if (shares_heap_memory(plan.receives[i]))
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

/// Lets a sender's lcore poll a port that receives nothing else, for the replies to the sender's requests.
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

/// Adds lcores for streams that are added or moved later, with memory for their heaps.
void add_spare_workers(const Plan& plan, Assignment& assignment, Layout& layout) {
    if (plan.runtime.live)
        for (const unsigned cpu : plan.runtime.lcores)
            assignment.worker(cpu, true);
    std::uint64_t largest = 0;
    for (const ReceivePlan& r : plan.receives)
        if (shares_heap_memory(r))
            largest = std::max(largest, r.max_bytes);
    for (WorkerLayout& w : layout.workers)
        if (may_receive(plan, w))
            w.largest_heap = largest == 0 ? ReceivePlan{}.max_bytes : largest;
}

/// Returns the number of streams that share the lcore's heap memory; a spare lcore counts one.
std::size_t heap_reservations(const Plan& plan, const WorkerLayout& w) {
    if (plan.memory.heaps == 0)
        return 0;
    const auto reservations =
        static_cast<std::size_t>(std::count_if(w.receives.begin(), w.receives.end(), [&plan](std::size_t i) {
            return shares_heap_memory(plan.receives[i]);
        }));
    return may_receive(plan, w) ? std::max<std::size_t>(1, reservations) : reservations;
}

/// Assigns EAL memory to nodes: a card's buffers to its NUMA node, those of other devices to the main
/// lcore's, as EAL does.
void lay_out_eal_memory(const Plan& plan, const port::Machine& machine, Layout& layout) {
    const int own = node_of_cpu(machine.files, layout.main_cpu);
    EalMemory& need = layout.eal_memory;
    need[own] += kEalBase + plan.memory.spare_eal;
    for (const port::PlannedPort& p : layout.ports) {
        std::size_t bytes = p.device.eal_bytes() + spare_sender_bytes(plan, p) +
                            (has_own_host(p) ? LinkHost::memory_need(p.device.tx.descriptors) : 0);
        for (const SendPlan& s : plan.sends)
            if (s.port == p.request.name)
                bytes += send::Sender::memory_need(sender_config(s, p)).bytes +
                         (s.impair.empty() ? 0 : port::ImpairedQueue::memory_need(impaired_setup(s, p)));
        need[eal_node(machine, p, layout.main_cpu)] += bytes;
    }
    layout.send_bytes = send_bytes(plan.sends);
    for (auto& [node, bytes] : need)
        bytes += bytes / 8;
    layout.eal_bytes = sum_of(need);
}

void number_lcores(Layout& layout) {
    unsigned lcore = 1;
    std::set<unsigned> cpus{layout.main_cpu};
    for (WorkerLayout& w : layout.workers) {
        w.lcore = lcore++;
        layout.shares_cpus |= !cpus.insert(w.cpu).second;
    }
    if (layout.shares_cpus)
        layout.remarks.push_back(fmt::format("{} lcores share {}: idle lcores yield to each other",
                                             layout.workers.size() + 1, counted(cpus.size(), "CPUs")));
}

/// Shares the memory for heaps between the workers, and adds up what windows and queues take besides.
void size_heaps(const Plan& plan, Layout& layout) {
    std::size_t reservations = 0;
    for (const WorkerLayout& w : layout.workers)
        reservations += heap_reservations(plan, w);
    for (WorkerLayout& w : layout.workers)
        if (const std::size_t mine = heap_reservations(plan, w); mine != 0) {
            w.heap_bytes =
                memory::Arena::capacity_for(plan.memory.heaps / reservations * mine, w.largest_heap);
            layout.heap_bytes += w.heap_bytes;
        }
    if (layout.heap_bytes > plan.memory.heaps)
        layout.remarks.push_back(
            fmt::format("heaps take {} instead of {}: each lcore has room for whole largest heaps, in powers "
                        "of two",
                        human_size(layout.heap_bytes), human_size(plan.memory.heaps)));
    for (const ReceivePlan& r : plan.receives)
        if (r.enabled)
            layout.chunk_bytes += chunk_bytes(r).sum();
    for (const WorkerLayout& w : layout.workers)
        for (const std::size_t i : w.receives) {
            layout.bookkeeping_bytes += bookkeeping_bytes(plan.receives[i]);
            layout.heap_bytes += own_host_bytes(plan.receives[i]);
        }
}

/// Returns the term of the chunks for the sum of the memory; empty: there are none.
std::string chunk_sum(const Plan& plan) {
    std::string text;
    for (const ReceivePlan& r : plan.receives)
        if (r.enabled && r.chunk)
            text += fmt::format("{} MiB for the {} of {} + ", chunk_bytes(r).sum() / kMebibyte,
                                counted(r.chunk->chunks, "chunks"), r.name);
    return text;
}

/// Throws Error when memory does not suffice for `ordinary` bytes, beside `huge` bytes of free huge pages.
void check_memory(const Plan& plan, const Layout& layout, std::size_t ordinary, std::size_t huge) {
    if (const std::size_t available = memory::available_memory();
        available != 0 && ordinary > available + huge)
        throw_error("memory",
                    "it does not suffice: {} MiB for heaps + {}{} MiB for windows and queues + {} MiB "
                    "of payload to send + {} MiB for EAL = {} MiB, and {} MiB are available; lower {}",
                    layout.heap_bytes / kMebibyte, chunk_sum(plan), layout.bookkeeping_bytes / kMebibyte,
                    layout.send_bytes / kMebibyte,
                    (ordinary - layout.heap_bytes - layout.chunk_bytes - layout.bookkeeping_bytes -
                     layout.send_bytes) /
                        kMebibyte,
                    ordinary / kMebibyte, available / kMebibyte,
                    layout.chunk_bytes > layout.heap_bytes
                        ? "the chunks: their number (`chunks`, --chunks) or their size (`placement`)"
                    : plan.receives.empty()
                        ? "the heaps in flight: their size (--heap-size) or their number (max_heaps)"
                        : "[memory] heaps (--memory), the rings, or the packet buffers (--buffer-size)");
}

}  // namespace

const port::PlannedPort& Layout::port(std::string_view name) const {
    const auto found = std::find_if(ports.begin(), ports.end(),
                                    [name](const port::PlannedPort& p) { return p.request.name == name; });
    if (found == ports.end())
        throw_error(std::string(name), "there is no such port");
    return *found;
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

Layout lay_out(const Plan& plan, const EalOptions& options, std::span<const port::Driver* const> drivers,
               const port::Machine& machine) {
    Layout layout;
    Assignment assignment(plan, options, layout);
    const StreamCpus cpus = cpus_of_streams(plan, assignment);
    layout.ports = plan_ports(plan, 0, cpus.of_port, options.devices, drivers, machine);
    for (const port::PlannedPort& p : layout.ports)
        layout.remarks.insert(layout.remarks.end(), p.device.remarks.begin(), p.device.remarks.end());
    check_files(plan, layout.ports);
    for (const SendPlan& s : plan.sends)
        check_next_hops(s, layout.port(s.port));
    add_remarks(plan, machine, layout);
    assign_streams(plan, cpus, assignment, layout);
    assign_senders(plan, assignment);
    poll_for_answers(plan, layout);
    add_spare_workers(plan, assignment, layout);
    number_lcores(layout);
    layout.port_cpus = cpus.of_port;
    layout.stream_cpus = cpus.of_stream;
    for (const FarWorker& far : far_workers(machine, layout, plan))
        layout.remarks.push_back(
            fmt::format("CPU {} is on NUMA node {}, port {} on node {}: packets cross between the sockets; "
                        "name CPUs of node {}",
                        far.cpu, far.cpu_node, far.port, far.port_node, far.port_node));

    for (const SendPlan& s : plan.sends)
        if (s.items > kMaxHeapItems)
            layout.remarks.push_back(fmt::format(
                "send {}: its heaps have {} items; dpdk-spead receives heaps of up to {} item pointers",
                s.name, s.items, kMaxHeapItems));
    lay_out_eal_memory(plan, machine, layout);
    size_heaps(plan, layout);

    const HugeMemory pages = huge_memory(machine);
    const std::size_t huge = pages.free_bytes();
    const bool eal_huge = !options.has_memory && !huge_shortage(pages, layout.eal_memory);
    const std::size_t ordinary = layout.heap_bytes + layout.chunk_bytes + layout.bookkeeping_bytes +
                                 layout.send_bytes + (eal_huge || options.has_memory ? 0 : layout.eal_bytes);
    check_memory(plan, layout, ordinary, huge);

    std::string lcores = fmt::format("{}@{}", layout.main_lcore, layout.main_cpu);
    for (const WorkerLayout& w : layout.workers)
        lcores += fmt::format(",{}@{}", w.lcore, w.cpu);
    BusNeeds bus = BusNeeds::of(layout.ports);
    // A card may come as well, which only huge pages will do for.
    bus.pci |= plan.memory.spare_eal != 0 && eal_huge && !options.has_bus;
    EalArguments made =
        eal_arguments(options, {layout.eal_memory, lcores, plan.runtime.name, bus, true}, machine);
    layout.eal_args = std::move(made.words);
    for (std::string& remark : made.remarks)
        layout.remarks.push_back(std::move(remark));
    return layout;
}

}  // namespace spead::runtime
