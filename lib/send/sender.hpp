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
    automatic,  ///< payload is sent straight from registered memory where the port can and it pays
    always,     ///< the same also where a copy would be cheaper; a port that cannot, and memory outside every
                ///< region, are errors. Copied are still: what the heap itself keeps, packets of too many
                ///< pieces, and the last packets before an idle time on a port that keeps sent segments
    never       ///< every packet is copied into one mbuf
};

/// How the heaps of one submission follow each other.
enum class Interleave : std::uint8_t {
    serial,      ///< one heap after the other
    round_robin  ///< a packet of each in turn until all are sent
};

/// Where one substream goes.
struct Destination {
    Endpoint endpoint;
    std::optional<wire::MacAddress> mac{};  ///< needed for a unicast address; a multicast address has its own
};

struct SenderConfig {
    std::string name;                       ///< for errors
    std::vector<Destination> destinations;  ///< one per substream, at least one
    wire::MacAddress source_mac{};
    Ipv4 source_ip;
    std::uint16_t source_port = 0;
    std::uint8_t ttl = 1;
    std::uint8_t dscp = 0;
    std::optional<std::uint16_t> vlan{};   ///< TCI of an 802.1Q tag
    std::uint32_t max_packet_size = 1472;  ///< UDP payload bytes, rounded down to a multiple of 8; 56..65507
    Pacing pacing;
    /// Ticks of the lcore's clock after which a heap that is not sent is given up (SendStatus::timed_out),
    /// from its submission on; 0: never. Control heaps wait as long as it takes.
    std::uint64_t timeout_ticks = 0;
    std::uint64_t (*clock)() = nullptr;  ///< that clock, for submissions; null: the TSC
    std::uint32_t max_heaps = 4;         ///< in flight; also the largest group
    ZeroCopy zero_copy = ZeroCopy::automatic;
    bool udp_checksum = false;    ///< true: a valid one (by the port where it can); false: 0
    std::uint64_t first_cnt = 1;  ///< heap counts of heaps without their own: first_cnt, + cnt_step, ...
    std::uint64_t cnt_step = 1;   ///< modulo 2^address_bits of the heap's flavour

    port::TxQueue queue;
    /// With a clock: bursts carry the time at which the port is to send them, and go to it up to 1 ms ahead.
    port::SendTimes send_times;
    port::Capabilities capabilities;
    std::uint16_t tx_descriptors = 1024;           ///< of that queue: how many segments the driver may hold
    const memory::RegionTable* regions = nullptr;  ///< null: no registered memory; must outlive the sender
    int numa = -1;                                 ///< where pools are made; -1: anywhere
};

/// The mbuf pools of a sender; a pure function of the configuration, usable before EAL is started.
struct SenderMemory {
    std::uint32_t header_mbufs = 0;    ///< headers and small payloads
    std::uint32_t header_room = 0;     ///< bytes of data room, headroom included
    std::uint32_t external_mbufs = 0;  ///< without data room, for payload in registered memory; 0: not used
    std::uint32_t copy_mbufs = 0;      ///< whole packets
    std::uint32_t copy_room = 0;
    std::size_t bytes = 0;  ///< EAL memory of all of it, an upper estimate
};

/// One heap to be sent.
struct Submission {
    OutgoingHeap* heap = nullptr;
    std::uint32_t substream = 0;         ///< index into the destinations
    std::optional<std::uint64_t> cnt{};  ///< before the heap's own, before the sequence
    std::optional<double> rate{};        ///< bytes per second for this heap; 0: unlimited; none: the sender's
    void* user = nullptr;                ///< returned in the completion
    bool control = false;                ///< carries no data (a stop item): request_cut leaves it alone
};

enum class SendStatus : std::uint8_t {
    sent,      ///< every packet was given to the driver
    aborted,   ///< the sender was stopped before
    timed_out  ///< the time-out was over before
};

/// What a sender leaves undone when it has to end early; each includes those before it.
enum class Cut : std::uint8_t {
    nothing,
    waiting,  ///< heaps of which no packet was built
    begun     ///< what is left of the others
};

/// What became of dummies.
struct DummyResult {
    std::uint32_t packets = 0;      ///< built and freed again
    bool of_heap = false;           ///< as those that come next; else of a small heap of zeros
    bool driver = false;            ///< the driver's queue was gone through, too; not every driver can
    const char* why_not = nullptr;  ///< why there are no packets
};

/// Packets that are still to be sent.
struct Backlog {
    std::uint64_t begun = 0;  ///< not built yet, of heaps of which some were
    std::uint64_t all = 0;    ///< of submitted heaps, that the driver has not taken
};

/// A heap that is no longer in flight: its memory is the user's again.
struct alignas(16) Completion {
    OutgoingHeap* heap = nullptr;
    void* user = nullptr;
    std::uint64_t cnt = 0;
    std::uint64_t time = 0;  ///< the `now` at which the lcore completed it
    std::uint32_t substream = 0;
    SendStatus status = SendStatus::sent;
};

/// The transmit agent of one stream on one lcore and one queue.
///
/// Three parties, which may be threads of their own or one and the same:
///  - the heap source calls prepare, submit and poll_completions;
///  - the lcore calls poll, dummy, set_port, set_mac, set_ttl_dscp, set_pacing, backlog, stuck, collect,
///  release and idle, and its thread alone touches the queue;
///  - the control world constructs and destroys, and may call request_cut and request_stop at any time.
class Sender {
  public:
    /// Makes the pools and rings. EAL runs. Throws Error: no destination, a unicast destination without a MAC
    /// address, a packet size out of range or above the port's frame, a rate that is not a number, `always`
    /// on a port that cannot, no memory (with the arithmetic).
    explicit Sender(SenderConfig config);
    /// The lcore no longer calls poll, and the driver and all receivers have given the mbufs back (the port
    /// is stopped, see collect). Mbufs that are still out keep their pools alive for ever; the log says so.
    ~Sender();
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    /// What the constructor will allocate. Pure: needs no EAL. `queue` and `regions` are not looked at.
    static SenderMemory memory_need(const SenderConfig& config);

    // The heap source.

    /// Lays the heap out, so that its submission neither allocates nor throws. Throws Error: packet size too
    /// small for the heap's items, payload longer than the flavour can say, device memory on a port or in a
    /// mode that must copy, with ZeroCopy::always memory outside every region.
    void prepare(OutgoingHeap& heap);

    /// Queues all heaps of `group`, or none. False: not as many heaps are free of max_heaps now (poll
    /// completions and try again), or the sender was stopped. Throws Error, with nothing queued and no heap
    /// count used: what prepare throws, no heap, an unknown substream, a heap count that does not fit the
    /// flavour, a negative rate, more heaps than max_heaps.
    bool submit(std::span<const Submission> group, Interleave mode = Interleave::serial);
    bool submit(const Submission& heap) { return submit(std::span(&heap, 1)); }

    /// Takes completions, in the order of submission; returns how many.
    std::size_t poll_completions(std::span<Completion> out);

    /// Announces completions by the event from now on. Before the lcore knows the sender.
    void announce_by(std::shared_ptr<ArmedEvent> event) noexcept;
    /// Makes a heap free to be changed whose completion will never be polled: its sender is at its end, and
    /// nothing looks at the heap any more.
    static void disown(OutgoingHeap& heap) noexcept;
    /// Whether poll_completions would find one.
    bool any_completed() const noexcept;

    /// Submitted heaps whose completion was not taken yet, and how many more could be submitted.
    std::uint32_t in_flight() const noexcept;
    std::uint32_t free_heaps() const noexcept;

    // The lcore.

    /// Builds and sends up to a few bursts. `now` is rte_rdtsc(). Returns whether anything was sent or
    /// completed. Packets the driver does not take are kept for the next call.
    bool poll(std::uint64_t now) noexcept;

    /// Completes heaps whose memory the driver has released, without touching the queue: the only call
    /// allowed once the port is stopped. Returns whether anything was completed.
    bool collect(std::uint64_t now) noexcept;

    /// Asks the driver for mbufs that it keeps; returns how many of this sender's pools are still out.
    std::size_t release() noexcept;

    /// Whether nothing is queued, built or held by the driver: everything submitted was completed.
    bool idle() const noexcept;

    /// The time before which the pacer will not send again; 0 when it does not wait.
    std::uint64_t next_send_time() const noexcept;

    /// Heaps that no poll has seen are included.
    Backlog backlog() const noexcept;

    /// The port has taken nothing for a second and more, and given nothing back (SendCounters::outages).
    bool stuck() const noexcept;

    /// The queue, and who packets come from, from now on: of a port that was opened again. Its capabilities
    /// are the former one's. A queue without `burst`: there is none for the time being. Then nothing is
    /// built, what is built waits, and heaps time out and are cut as ever.
    void set_port(const port::TxQueue& queue, const port::SendTimes& times, const wire::MacAddress& mac,
                  Ipv4 ip) noexcept;
    /// The same port, which has stopped (a queue without `burst`) or runs again.
    void set_queue(const port::TxQueue& queue) noexcept;

    /// Where packets to the destination go from now on, on the link; those that are built stay as they are.
    void set_mac(std::uint32_t substream, const wire::MacAddress& mac) noexcept;

    /// Of all packets that are not built yet.
    void set_ttl_dscp(std::uint8_t ttl, std::uint8_t dscp) noexcept;
    /// Builds `packets` packets and frees them again: brings the code, mbufs, header templates and payload
    /// that the next packets need into the caches. No packet leaves, nothing but `dummy_packets` counts them,
    /// and neither the heaps nor the pacer notice.
    DummyResult dummy(std::uint32_t packets) noexcept;

    void set_pacing(const Pacing& pacing) noexcept;
    const Pacing& pacing() const noexcept;

    /// Written by the lcore's thread only; read it there or after that thread was joined.
    const stats::SendCounters& counters() const noexcept;

    // Anyone.

    /// From the next poll on, heaps that `cut` names are completed as aborted, and so is what is submitted
    /// later; control heaps still go. Packets that are built are still sent; a port that frees late may
    /// keep their heaps until it stops. A later cut may be wider, not narrower.
    void request_cut(Cut cut) noexcept;

    /// Stops for good: at the next poll unsent mbufs are freed, and every heap that was not wholly given to
    /// the driver is completed as aborted once the driver has released what it was given. submit returns
    /// false from now on.
    void request_stop() noexcept;
    bool stop_requested() const noexcept;

    const SenderConfig& config() const noexcept;
    /// Mbufs of this sender's pools that are not in them.
    std::size_t mbufs_out() const noexcept;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace spead::send
