// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/armed_event.hpp"
#include "base/endpoint.hpp"
#include "memory/region.hpp"
#include "port/capabilities.hpp"
#include "port/port_io.hpp"
#include "port/timestamps.hpp"
#include "send/outgoing_heap.hpp"
#include "send/pacer.hpp"
#include "stats/counters.hpp"
#include "wire/net.hpp"

namespace spead::send {

enum class ZeroCopy : std::uint8_t {
    automatic,  ///< payload is sent without a copy from registered memory if the port can and it pays
    always,     ///< the same even if a copy would be cheaper; errors are a port that cannot, and memory
                ///< outside every region. Still copied are bytes of the heap itself, packets of too many
                ///< pieces, and the last packets before an idle time on a port that keeps sent segments
    never       ///< every packet is copied into one mbuf
};

/// Says how the heaps of one submission follow each other.
enum class Interleave : std::uint8_t {
    serial,      ///< one heap after the other
    round_robin  ///< a packet of each in turn until all are sent
};

/// Names the destination of one substream.
struct Destination {
    Endpoint endpoint;
    std::optional<wire::MacAddress> mac{};  ///< needed for a unicast address; a multicast address has its own
};

struct SenderConfig {
    std::string name;                       ///< for errors
    std::vector<Destination> destinations;  ///< one per substream, at least one, all of one IP version
    wire::MacAddress source_mac{};
    IpAddress source_ip;  ///< of the same version
    std::uint16_t source_port = 0;
    std::uint8_t ttl = 1;
    std::uint8_t dscp = 0;
    std::optional<std::uint16_t> vlan{};   ///< TCI of an 802.1Q tag
    std::uint32_t max_packet_size = 1472;  ///< UDP payload bytes, rounded down to a multiple of 8; 56..65507
    Pacing pacing;
    /// Holds the time-out in ticks of the lcore's clock, from the submission on, after which an unsent heap
    /// is given up (SendStatus::timed_out); 0: never. Control heaps wait without limit.
    std::uint64_t timeout_ticks = 0;
    std::uint64_t (*clock)() = nullptr;  ///< the lcore's clock, for submissions; null: the TSC
    std::uint32_t max_heaps = 4;         ///< in flight; also the largest group
    ZeroCopy zero_copy = ZeroCopy::automatic;
    /// Says whether packets have a valid checksum, by the port where it can; else 0. Those of IPv6 always
    /// have one (RFC 8200 8.1).
    bool udp_checksum = false;
    std::uint64_t first_cnt = 1;  ///< heap counts of heaps without their own: first_cnt, + cnt_step, ...
    std::uint64_t cnt_step = 1;   ///< modulo 2^address_bits of the heap's flavour

    std::string port_name{};  ///< the port and its driver, for errors: "port p0 (net_ring)"
    /// Says why payload may not lie in memory of a GPU, as a clause; empty: the capabilities decide.
    std::string no_device_memory{};
    port::TxQueue queue;
    /// Holds the port's clock, if it has one: bursts then carry the time at which the port is to send them,
    /// and go to it up to 1 ms ahead.
    port::SendTimes send_times;
    port::Capabilities capabilities;
    std::uint16_t tx_descriptors = 1024;           ///< of that queue: how many segments the driver may hold
    const memory::RegionTable* regions = nullptr;  ///< null: no registered memory; must outlive the sender
    int numa = -1;                                 ///< NUMA node of the pools; -1: any
};

/// Describes the mbuf pools of a sender; a pure function of the configuration, usable before EAL is started.
struct SenderMemory {
    std::uint32_t header_mbufs = 0;    ///< headers and small payloads
    std::uint32_t header_room = 0;     ///< bytes of data room, headroom included
    std::uint32_t external_mbufs = 0;  ///< without data room, for payload in registered memory; 0: not used
    std::uint32_t copy_mbufs = 0;      ///< whole packets
    std::uint32_t copy_room = 0;
    std::size_t bytes = 0;  ///< EAL memory in all, an upper estimate
};

/// Describes one heap to be sent.
struct Submission {
    OutgoingHeap* heap = nullptr;
    std::uint32_t substream = 0;         ///< index into the destinations
    std::optional<std::uint64_t> cnt{};  ///< takes precedence over the heap's own, and that over the sequence
    std::optional<double> rate{};        ///< bytes per second for this heap; 0: unlimited; none: the sender's
    void* user = nullptr;                ///< returned in the completion
    bool control = false;                ///< carries no data (a stop item): request_cut leaves it alone
};

enum class SendStatus : std::uint8_t {
    sent,      ///< every packet was given to the driver
    aborted,   ///< the sender was stopped before
    timed_out  ///< the time-out was over before
};

/// Says which heaps a sender gives up when it has to end early; each value includes those before it.
enum class Cut : std::uint8_t {
    nothing,
    waiting,  ///< heaps without a built packet
    begun     ///< the rest of the others
};

/// Holds the result of sending dummies.
struct DummyResult {
    std::uint32_t packets = 0;      ///< built and freed again
    bool of_heap = false;           ///< made from the next packets; else from a small heap of zeros
    bool driver = false;            ///< the driver's queue was exercised, too; not every driver can
    const char* why_not = nullptr;  ///< why there are no packets
};

/// Counts packets that are still to be sent.
struct Backlog {
    std::uint64_t begun = 0;  ///< not built yet, of heaps that have begun
    std::uint64_t all = 0;    ///< of submitted heaps, that the driver has not taken
};

/// Reports a heap that is no longer in flight: its memory is the user's again.
struct alignas(16) Completion {
    OutgoingHeap* heap = nullptr;
    void* user = nullptr;
    std::uint64_t cnt = 0;
    std::uint64_t time = 0;  ///< the `now` at which the lcore completed it
    std::uint32_t substream = 0;
    SendStatus status = SendStatus::sent;
};

/// Sends the heaps of one stream from one lcore through one queue.
///
/// Three parties, which may be threads of their own or one and the same:
///  - the heap source calls prepare, submit and poll_completions;
///  - the lcore calls poll, dummy, set_port, set_mac, set_ttl_dscp, set_pacing, backlog, stuck, collect,
///    release and idle, and its thread alone touches the queue;
///  - control code constructs and destroys, and may call request_cut and request_stop at any time.
class Sender {
  public:
    /// Makes the pools. EAL runs. Throws Error: no destination, a unicast destination without a MAC
    /// address, a packet size out of range or above the port's frame, a rate that is not a number, `always`
    /// on a port that cannot, no memory (with the arithmetic).
    explicit Sender(SenderConfig config);
    /// Destroys the sender. The lcore no longer calls poll, and the driver and all receivers have given the
    /// mbufs back (the port is stopped, see collect). If mbufs are still out, their pools stay allocated; the
    /// log says so.
    ~Sender();
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    /// Returns the memory that the constructor will allocate. Pure: needs no EAL. `queue` and `regions` are
    /// not read.
    static SenderMemory memory_need(const SenderConfig& config);

    // The heap source.

    /// Lays the heap out, so that its submission neither allocates nor throws. Throws Error: packet size too
    /// small for the heap's items, payload longer than the flavour allows, memory of a GPU on a port or in a
    /// mode that reads payload, with ZeroCopy::always memory outside every region.
    void prepare(OutgoingHeap& heap);

    /// Queues all heaps of `group`, or none. Returns false when too few of max_heaps are free now (poll
    /// completions and try again), or when the sender was stopped. Throws Error, with nothing queued and no
    /// heap count used: what prepare throws, no heap, an unknown substream, a heap count that does not fit
    /// the flavour, a negative rate, more heaps than max_heaps.
    bool submit(std::span<const Submission> group, Interleave mode = Interleave::serial);
    bool submit(const Submission& heap) { return submit(std::span(&heap, 1)); }

    /// Takes completions, in the order of submission; returns how many.
    std::size_t poll_completions(std::span<Completion> out);

    /// Gives the next heap without a count of its own this one, and `step` more to each after it.
    void set_cnt_sequence(std::uint64_t next, std::uint64_t step) noexcept;

    /// Announces completions by the event from now on. Call it before the lcore knows the sender.
    void announce_by(std::shared_ptr<ArmedEvent> event) noexcept;
    /// Frees a heap for changes although its completion will never be polled. Its sender is ending and no
    /// longer reads the heap.
    static void disown(OutgoingHeap& heap) noexcept;
    /// Returns whether poll_completions would find one.
    bool any_completed() const noexcept;

    /// Returns the number of submitted heaps whose completion was not taken yet; the next: how many more
    /// could be submitted.
    std::uint32_t in_flight() const noexcept;
    std::uint32_t free_heaps() const noexcept;

    // The lcore.

    /// Builds and sends up to a few bursts. `now` is rte_rdtsc(). Returns whether anything was sent or
    /// completed. Packets the driver does not take are kept for the next call.
    bool poll(std::uint64_t now) noexcept;

    /// Completes heaps whose memory the driver has released, without touching the queue: the only call
    /// allowed once the port is stopped. Returns whether anything was completed.
    bool collect(std::uint64_t now) noexcept;

    /// Asks the driver for mbufs that it keeps. Returns how many of this sender's pools are still out.
    std::size_t release() noexcept;

    /// Returns whether nothing is queued, built or held by the driver: everything submitted was completed.
    bool idle() const noexcept;

    /// Returns the time before which the pacer will not send again; 0 when it does not wait.
    std::uint64_t next_send_time() const noexcept;

    /// Returns the backlog, with heaps that no poll has seen.
    Backlog backlog() const noexcept;

    /// Returns whether the port has taken nothing for a second or more, and given nothing back
    /// (SendCounters::outages).
    bool stuck() const noexcept;

    /// Sets the queue and the source addresses, after a port was opened again. Its capabilities are those of
    /// the former one. A queue without `burst` means that there is none for the time being. Then nothing is
    /// built, built packets wait, and heaps still time out and are cut.
    void set_port(const port::TxQueue& queue, const port::SendTimes& times, const wire::MacAddress& mac,
                  const IpAddress& ip) noexcept;
    /// Sets the source addresses of packets that are built from now on.
    void set_source(const wire::MacAddress& mac, const IpAddress& ip) noexcept;
    /// Sets the queue of the same port, which has stopped (a queue without `burst`) or runs again.
    void set_queue(const port::TxQueue& queue) noexcept;

    /// Sets the MAC address for packets to the destination; built packets keep theirs.
    void set_mac(std::uint32_t substream, const wire::MacAddress& mac) noexcept;

    /// Sets the fields for all packets that are not built yet.
    void set_ttl_dscp(std::uint8_t ttl, std::uint8_t dscp) noexcept;
    /// Builds `packets` packets and frees them again. This brings the code, mbufs, header templates and
    /// payload of the next packets into the caches. No packet leaves, only `dummy_packets` counts them, and
    /// neither the heaps nor the pacer are affected.
    DummyResult dummy(std::uint32_t packets) noexcept;

    void set_pacing(const Pacing& pacing) noexcept;
    const Pacing& pacing() const noexcept;

    /// Returns the counters, which the lcore's thread writes; read them there or after that thread was
    /// joined.
    const stats::SendCounters& counters() const noexcept;

    // Anyone.

    /// Cuts heaps: from the next poll on, heaps that `cut` names are completed as aborted, and so are later
    /// submissions; control heaps are still sent. Built packets are still sent; a port that frees late may
    /// keep their heaps until it stops. A later cut may be wider, not narrower.
    void request_cut(Cut cut) noexcept;

    /// Gives up the data heaps that are in flight at the next poll, unless the driver has fully taken them.
    /// They complete as aborted, and later ones are sent.
    void request_recall() noexcept;

    /// Stops finally. At the next poll unsent mbufs are freed. Every heap that the driver has not fully taken
    /// is completed as aborted, once the driver has released its mbufs. submit returns false from now on.
    void request_stop() noexcept;
    bool stop_requested() const noexcept;

    /// Returns a number that moves with each poll: while it stands still, the lcore does not run.
    std::uint64_t polls() const noexcept;

    const SenderConfig& config() const noexcept;
    /// Returns how many mbufs of this sender's pools are not in them.
    std::size_t mbufs_out() const noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace spead::send
