// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gather/batch.hpp"
#include "port/driver.hpp"
#include "port/impaired_queue.hpp"
#include "runtime/huge_pages.hpp"
#include "runtime/plan.hpp"
#include "runtime/queue_assignment.hpp"
#include "send/sender.hpp"

/// Computes the layout of a plan on this machine before anything is made: the work of each lcore, the ports,
/// the memory. Pure control code; `--check` prints it.
namespace spead::runtime {

/// Holds the user's EAL options, by the groups that the program otherwise chooses itself.
struct EalOptions {
    std::vector<std::string> words;    ///< as typed
    bool has_lcores = false;           ///< -l, -c, --lcores, ...
    bool has_memory = false;           ///< --no-huge, --in-memory, --socket-mem, ...
    bool has_amount = false;           ///< -m
    bool has_naming = false;           ///< --file-prefix, --no-shconf
    bool has_bus = false;              ///< -a, -b, --no-pci
    bool has_block = false;            ///< -b: EAL then probes all other cards
    bool has_no_pci = false;           ///< --no-pci
    bool has_log = false;              ///< --log-level
    std::vector<std::string> devices;  ///< values of --vdev and -a

    static EalOptions parse(std::vector<std::string> words);
};

struct WorkerLayout {
    unsigned lcore = 0;  ///< EAL's id
    unsigned cpu = 0;
    unsigned planned_cpu = 0;           ///< by which queues and deliveries name it; EAL may have another
    bool named = false;                 ///< by the plan; else chosen here
    std::vector<std::size_t> receives;  ///< indices into Plan::receives of the streams with a lane here
    std::vector<std::size_t> sends;     ///< indices into Plan::sends
    std::uint64_t largest_heap = 0;     ///< bytes, of its streams
    std::size_t heap_bytes = 0;         ///< of its arena: its streams' reservations, in whole largest heaps
};

/// Holds the assignment of streams to queues and lcores, which changes with the streams.
struct QueueAssignment {
    std::vector<QueueLayout> queues;  ///< by port
    std::vector<PortRule> rules;      ///< added to the ports once these are started
    /// Holds the CPUs of each port's streams, none twice, first those that poll its queues (the order that
    /// spread() gets).
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
    EalMemory eal_memory;                ///< by NUMA node of the cards; the rest on that of the main lcore
    std::size_t eal_bytes = 0;           ///< all of it
    std::size_t heap_bytes = 0;          ///< arenas
    std::size_t bookkeeping_bytes = 0;   ///< windows, tables, queues
    std::size_t chunk_bytes = 0;         ///< chunks of all streams: payload, presence, extra values
    std::size_t send_bytes = 0;          ///< payload of generated heaps
    std::vector<std::string> eal_args;   ///< complete, without the program's name
    std::vector<std::string> remarks;    ///< for the user

    const port::PlannedPort& port(std::string_view name) const;
    /// Returns the CPUs for the threads that are not lcores: those that lcores do not use, or else the main
    /// lcore's.
    std::vector<unsigned> control_cpus() const;
};

/// Returns how a port's device is to be used.
constexpr port::UseDevice use_of(Offload offload) {
    return offload == Offload::software    ? port::UseDevice::never
           : offload == Offload::automatic ? port::UseDevice::if_it_can
                                           : port::UseDevice::must;
}

/// Returns the CPUs that the calling thread may run on, ascending. Once EAL runs, the main thread has only
/// one.
std::vector<unsigned> allowed_cpus();

/// Makes the layout, before EAL starts. As far as there are CPUs, each port that receives and each sender
/// gets a worker lcore. A stream gets those that it names. Objects on one CPU share its lcore. Throws Error
/// when a CPU does not exist, a device is impossible, or memory does not suffice (with the sum).
Layout lay_out(const Plan& plan, const EalOptions& options, std::span<const port::Driver* const> drivers,
               const port::Machine& machine = port::this_machine());

/// Assigns EAL's lcores to the workers, if the user chose the lcores: on the CPU that the plan names, if it
/// names one. EAL runs. Throws Error when they are too few or not on the named CPUs.
void use_lcores_of_eal(Layout& layout, const EalOptions& options);

/// Returns the ordinary memory of a stream on each of its lcores besides its heaps: windows, tables, queues.
std::size_t bookkeeping_bytes(const ReceivePlan& plan);

/// Returns the stream's own heap memory on each of its lcores; 0: it shares the lcore's.
std::size_t own_heap_bytes(const ReceivePlan& plan);
/// Returns it without memory of a GPU.
std::size_t own_host_bytes(const ReceivePlan& plan);

/// Holds the memory of a stream's chunks, all lcores together.
struct ChunkBytes {
    std::size_t payload = 0;  ///< of all chunks, in a mapping
    std::size_t books = 0;    ///< presence and extra values, and what the ring adds
    std::size_t sum() const { return payload + books; }
};
/// Returns the memory of the stream's chunks; nothing without chunks. Throws UsageError if its placement is
/// wrong.
ChunkBytes chunk_bytes(const ReceivePlan& plan);
/// Returns the payload bytes of a chunk with the gap to the next one, which begins on a page of its own.
std::size_t memory_of_chunk(const chunk::Layout& layout);
/// Returns whether the stream's heaps lie in memory that it shares with other streams of its lcores.
inline bool shares_heap_memory(const ReceivePlan& plan) {
    return plan.own_memory() == 0 && !plan.chunk;
}
/// Holds the batches of an lcore that an engine may have at a time.
inline constexpr std::uint32_t kGatherBatches = 16;
/// Holds the packets in these batches.
inline constexpr std::uint32_t kGatheredPackets = kGatherBatches * gather::Batch::kMaxPackets;
/// Returns the packets that an engine may have of the stream, on each lcore; each may be a heap that has
/// ended.
inline std::uint32_t ended_in_batches(const ReceivePlan& plan) {
    return plan.engine == HeapEngine::none ? 0 : kGatheredPackets;
}

/// Returns the payload bytes of all heaps in flight. Throws Error, with the sender's name, when a process
/// cannot map so much.
std::size_t send_bytes(const std::vector<SendPlan>& sends);

/// Returns the sender's configuration as far as it is known before the port is open: enough for its memory
/// need.
send::SenderConfig sender_config(const SendPlan& plan, const port::PlannedPort& port);
/// Returns the setup of the impairments of a sender with `impair`, as far as the plan has it.
port::ImpairedQueue::Setup impaired_setup(const SendPlan& plan, const port::PlannedPort& port);

/// Holds the needs of the ports from EAL, beside memory.
struct BusNeeds {
    bool pci = false;                 ///< EAL's PCI bus, and huge pages
    bool physical_addresses = false;  ///< a card works without IOMMU
    bool shared_memory = false;       ///< a port's peer maps EAL's memory

    static BusNeeds of(std::span<const port::PlannedPort> ports);
};

/// Holds the needs that EAL is started with.
struct EalNeeds {
    EalMemory memory;    ///< bytes by NUMA node
    std::string lcores;  ///< "0@0,1@1"
    std::string name;    ///< of the process, for EAL's directory
    BusNeeds bus;
    bool telemetry = false;  ///< EAL serves its socket if its path fits
};

struct EalArguments {
    std::vector<std::string> words;    ///< without the program's name
    std::vector<std::string> remarks;  ///< for the user
};

/// Makes EAL's arguments; the user's own options stay as they are. With PCI ports, EAL gets an impossible
/// card address, so that it probes none; ports attach their own cards. Chooses memory by the pages that are
/// free now: hold a memory::HugePageTurn until EAL has started. Throws Error when neither huge pages nor
/// ordinary memory suffice, and UsageError for options of the user's that the ports exclude.
EalArguments eal_arguments(const EalOptions& options, const EalNeeds& needs,
                           const port::Machine& machine = port::this_machine());

/// Returns lines for people: the placement, and the sums behind the sizes.
std::string describe(const Layout& layout, const Plan& plan);

}  // namespace spead::runtime
