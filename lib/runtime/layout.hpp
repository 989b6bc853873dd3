// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "port/driver.hpp"
#include "port/impaired_queue.hpp"
#include "runtime/huge_pages.hpp"
#include "runtime/plan.hpp"
#include "runtime/queue_assignment.hpp"
#include "send/sender.hpp"

/// What a plan means on this machine, worked out before anything is made: which lcore does what, what the
/// ports look like, how much memory that takes. Pure control world; `--check` prints it.
namespace spead::runtime {

/// EAL options of the user's, by the groups that we otherwise choose ourselves.
struct EalOptions {
    std::vector<std::string> words;    ///< as typed
    bool has_lcores = false;           ///< -l, -c, --lcores, ...
    bool has_memory = false;           ///< --no-huge, --in-memory, --socket-mem, ...
    bool has_amount = false;           ///< -m
    bool has_naming = false;           ///< --file-prefix, --no-shconf
    bool has_bus = false;              ///< -a, -b, --no-pci
    bool has_block = false;            ///< -b: EAL then probes all cards but those
    bool has_no_pci = false;           ///< --no-pci
    bool has_log = false;              ///< --log-level
    std::vector<std::string> devices;  ///< values of --vdev and -a

    static EalOptions parse(std::vector<std::string> words);
};

struct WorkerLayout {
    unsigned lcore = 0;  ///< EAL's id
    unsigned cpu = 0;
    unsigned planned_cpu = 0;  ///< by which queues and deliveries name it; EAL may have put it elsewhere
    bool named = false;        ///< the plan names the CPU, else it was chosen here
    std::vector<std::size_t> receives;  ///< indices into Plan::receives: streams of which it has a lane
    std::vector<std::size_t> sends;     ///< indices into Plan::sends
    std::uint64_t largest_heap = 0;     ///< bytes, of its streams
    std::size_t heap_bytes = 0;         ///< of its arena: its streams' reservations, whole largest heaps
};

/// How the streams are assigned to queues and lcores: what changes when streams do.
struct QueueAssignment {
    std::vector<QueueLayout> queues;  ///< by port
    std::vector<PortRule> rules;      ///< to be given to ports once they are started
    /// CPUs of each port's streams, none twice, those that poll its queues first (assign_queues() is given
    /// them).
    std::vector<std::vector<unsigned>> port_cpus;
    std::vector<std::vector<unsigned>> stream_cpus;  ///< as Plan::receives
};

struct Layout : QueueAssignment {
    std::vector<port::PlannedPort> ports;  ///< as Plan::ports
    std::vector<WorkerLayout> workers;
    unsigned main_lcore = 0;
    unsigned main_cpu = 0;
    std::vector<unsigned> allowed_cpus;  ///< of this process
    bool shares_cpus = false;            ///< fewer CPUs than lcores: idle loops yield
    EalMemory eal_memory;                ///< by NUMA node of the cards, and of the main lcore for the rest
    std::size_t eal_bytes = 0;           ///< all of it
    std::size_t heap_bytes = 0;          ///< arenas
    std::size_t bookkeeping_bytes = 0;   ///< windows, tables, queues
    std::size_t send_bytes = 0;          ///< payload of generated heaps
    std::vector<std::string> eal_args;   ///< complete, without the program's name
    std::vector<std::string> remarks;    ///< lines to tell the user

    const port::PlannedPort& port(std::string_view name) const;
    /// CPUs for the threads that are no lcores: those that lcores leave, or the main lcore's.
    std::vector<unsigned> control_cpus() const;
};

/// What a port is asked for.
constexpr port::UseDevice use_of(Offload offload) {
    return offload == Offload::software    ? port::UseDevice::never
           : offload == Offload::automatic ? port::UseDevice::if_it_can
                                           : port::UseDevice::must;
}

/// CPUs the calling thread may run on, ascending. Once EAL runs, the main thread has one only.
std::vector<unsigned> allowed_cpus();

/// To be called before EAL runs. Each port that receives and each sender gets a worker lcore, as far as there
/// are CPUs, and a stream those that it names; what shares a CPU then shares its lcore. Throws Error when
/// something does not fit: a CPU that is not there, a device that cannot be, memory (with the sum).
Layout lay_out(const Plan& plan, const EalOptions& options, std::span<const port::Driver* const> drivers,
               const port::Machine& machine = port::this_machine());

/// Where the user chose the lcores: gives each worker one of EAL's, on the CPU that the plan names if it
/// names one. EAL runs. Throws Error when they are too few or not on the CPUs named.
void use_lcores_of_eal(Layout& layout, const EalOptions& options);

/// Ordinary memory that a stream takes on each of its lcores besides its heaps: windows, tables, queues.
std::size_t bookkeeping_bytes(const ReceivePlan& plan);

/// Memory of its own that a stream has for heaps on each of its lcores; 0: it shares the lcore's.
std::size_t own_heap_bytes(const ReceivePlan& plan);

/// Returns the payload of all heaps in flight. Throws Error, with the sender's name, when it is more than a
/// process can map.
std::size_t send_bytes(const std::vector<SendPlan>& sends);

/// The sender's configuration as far as it is known before the port is open: enough for its memory need.
send::SenderConfig sender_config(const SendPlan& plan, const port::PlannedPort& port);
/// How what a sender with `impair` sends is impaired, as far as the plan tells.
port::ImpairedQueue::Setup impaired_setup(const SendPlan& plan, const port::PlannedPort& port);

/// What the ports need of EAL beside memory.
struct BusNeeds {
    bool pci = false;                 ///< EAL's PCI bus, and huge pages
    bool physical_addresses = false;  ///< a card works without IOMMU
    bool shared_memory = false;       ///< a port's peer maps EAL's memory

    static BusNeeds of(std::span<const port::PlannedPort> ports);
};

/// What EAL is started for.
struct EalNeeds {
    EalMemory memory;    ///< bytes by NUMA node
    std::string lcores;  ///< "0@0,1@1"
    std::string name;    ///< of the process, for EAL's directory
    BusNeeds bus;
    bool telemetry = false;  ///< EAL serves its socket, where one fits
};

struct EalArguments {
    std::vector<std::string> words;    ///< without the program's name
    std::vector<std::string> remarks;  ///< lines to tell the user
};

/// EAL's arguments, leaving alone what the user chose. With PCI ports, EAL is told of a card that cannot be,
/// so that it touches none; ports attach theirs themselves. Memory is chosen by what is free at this moment:
/// hold a memory::HugePageTurn until EAL has started. Throws Error when neither huge pages nor ordinary
/// memory hold it, and UsageError for options of the user's that the ports exclude.
EalArguments eal_arguments(const EalOptions& options, const EalNeeds& needs,
                           const port::Machine& machine = port::this_machine());

/// Lines for people: what will run where, and the sums behind the sizes.
std::string describe(const Layout& layout, const Plan& plan);

}  // namespace spead::runtime
