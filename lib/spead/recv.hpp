// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <spead/process.hpp>
#include <string>
#include <vector>

namespace spead {

/// Says what an idle receive lcore does: polls without a pause, pauses more and more, or sleeps until the
/// port interrupts. The busiest wish of an lcore's streams counts. If a port has no interrupts, or was
/// opened by a stream without `interrupt`, that means `adaptive`.
enum class Poll : std::uint8_t { adaptive, busy, interrupt };

/// Says what happens to a finished heap without room because the user is slow. `automatic` blocks if the
/// source loses nothing by waiting (files, rings, memif), and drops the newest heap elsewhere.
enum class OnFull : std::uint8_t { automatic, drop_newest, drop_oldest, block };

/// Says who receives a stream's packets from the network: a port of DPDK's, or sockets of the kernel. The
/// latter need no privileges, and carry a fraction of the rate.
enum class Backend : std::uint8_t { port, kernel };

/// Says how payload is copied into heaps: into the cache, or past it with non-temporal stores, which is
/// faster for memory that the cache does not hold. `automatic` decides by the memory that heaps rotate
/// through, while the stream runs.
enum class Copy : std::uint8_t { automatic, cached, streaming };

class PacketFilter;
class Reader;

/// Describes a stream. The ranges are those of the configuration's [[receive]] (docs/configuration.md), where
/// `max_heaps` is max_live, `max_heap_bytes` is max_bytes, and `heap_timeout` is timeout.
struct RecvConfig {
    /// Names the second path of a stream, which brings a copy of every packet (docs/paths.md).
    struct SecondPath {
        std::string interface {};                   ///< as RecvConfig::interface
        std::vector<std::string> endpoints{};       ///< one for each of the first; empty: the same
        std::chrono::nanoseconds skew{50'000'000};  ///< how far one path may be behind
    };

    std::vector<std::string> endpoints{};  ///< "239.10.10.0+15:7148": sixteen groups
    /// Names the source of packets as users do: a network interface, an IP address of this machine, a PCI
    /// address, an RDMA device or a DPDK device string. Empty: $DPDK_SPEAD_INTERFACE, or the only candidate.
    std::string interface {};
    /// Switches the stream to sockets of the kernel. `interface` is then a network interface or its address;
    /// empty: the kernel's choice.
    Backend backend = Backend::port;
    std::string name{};              ///< in logs and reports; empty: chosen
    std::vector<unsigned> lcores{};  ///< CPUs, several share the heaps; empty: the next that is free
    Poll poll = Poll::adaptive;
    std::uint32_t max_packet_size = 9200;  ///< UDP payload bytes
    /// Sets the bytes that the port's receive queue holds. The stream that opens the port decides; other
    /// streams' values are ignored.
    std::size_t buffer_size = std::size_t{16} << 20;
    std::uint32_t substreams = 1;     ///< windows; the heap count modulo this picks one
    std::uint32_t max_heaps = 4;      ///< live heaps of each substream
    std::uint32_t queue_depth = 256;  ///< finished heaps that wait for the user
    std::uint64_t max_heap_bytes = std::uint64_t{64} << 20;  ///< larger heaps are refused and counted
    std::size_t memory = std::size_t{128} << 20;             ///< for heap payloads, on each lcore
    /// Makes that memory resident at the start. false: as heaps first use it, which is for streams that are
    /// short or many. A stream of a port ignores it, as its lcores take no page faults.
    bool prefault = true;
    /// Makes so many bytes of it resident at the start even so: those that heaps use first.
    std::size_t prefault_bytes = 0;
    bool in_order = false;           ///< takes a heap's packets in order only, as spead2 does
    std::uint32_t history = 1024;    ///< counts of ended heaps that each substream remembers; 0: none
    bool stop_on_stop_item = false;  ///< the stream ends with the first stop item
    bool control_heaps = false;      ///< delivers heaps that carry only stream control (start, stop), too
    std::chrono::nanoseconds heap_timeout{0};  ///< gives a heap up after so long without a packet; 0: never
    OnFull on_full = OnFull::automatic;
    /// Declares packets that are not SPEAD, or names a known format (docs/formats.md); empty: SPEAD. Each
    /// packet is then a heap, and its values are items.
    std::string format{};
    std::string filter{};  ///< an expression over item values and endpoints (docs/hooks.md); empty: all
    /// Makes a filter of the user's own, one for each lcore; empty: none. Not together with `filter`.
    std::function<std::unique_ptr<PacketFilter>()> packet_filter{};
    /// Limits the port's receive buffers that a filter of the user's own may hold (HeldPacket), on each
    /// lcore. A packet takes one for each of its pieces. The stream that opens the port adds so many to it;
    /// those that filters of other streams hold are missing to its queue. Refused for a stream without a
    /// port.
    std::uint32_t held_buffers = 0;
    /// Lets heaps keep up to so many of the port's receive buffers, on each lcore, instead of being copied
    /// (Heap::segments). When that many are out, heaps that begin are copied, and counted: no packet is lost
    /// for it. The stream that opens the port decides how many there are for all its streams. Worth it for
    /// packets of some KiB.
    std::uint32_t lend = 0;
    Copy copy = Copy::automatic;
    bool start = true;  ///< false: the stream receives from start() on
    /// Lets go of the readers with the end, or with stop(): their sockets are closed then, and there is no
    /// other start. false: each start opens them anew. A stream of a port ignores it.
    bool once = false;
    /// Merges the packets of two ports: what either brings is taken once. Then at least 64 heaps are live,
    /// and 16384 are remembered. Refused are `in_order`, `stop_on_stop_item` and `lend`, and streams without
    /// a port.
    std::optional<SecondPath> second_path{};
};

/// Holds one item pointer of a heap.
struct Item {
    std::uint64_t id = 0;
    bool immediate = false;              ///< `value` is the item's value; else `bytes` are
    std::uint64_t value = 0;             ///< host byte order
    std::span<const std::byte> bytes{};  ///< in the heap's memory; empty: some of them did not arrive
};

namespace runtime {
struct HeapLoan;
}
namespace door {
struct HeapAccess;
}

/// Lends a received heap to the user: a move-only handle. Its memory is valid until the handle is destroyed,
/// on any thread, also after the stream or the session has ended. Until then it keeps all of the stream's
/// memory (RecvConfig::memory) on its lcore. A stream that does not get its heaps back runs out of memory.
/// Then it drops and counts packets. If its source can wait, it stops until a heap is destroyed, and the log
/// says so after two seconds. To go on, a stream needs room for max_heaps + 1 heaps, in powers of two,
/// besides those that the user keeps.
///
/// Different heaps may be used by different threads. Several threads may use one heap at once as long as none
/// of them moves, assigns or destroys it.
class SPEAD_API Heap {
  public:
    Heap() noexcept;
    Heap(Heap&& other) noexcept;
    Heap& operator=(Heap&& other) noexcept;
    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;
    ~Heap();

    /// Returns false when the handle is empty; then no other function may be called.
    explicit operator bool() const noexcept;
    std::uint64_t cnt() const noexcept;
    /// Returns whether all bytes arrived and every item lies within them.
    bool complete() const noexcept;
    /// Returns whether there is no hole: complete, or of unknown length with everything up to its last byte.
    bool contiguous() const noexcept;
    /// Returns whether a packet told the heap's length.
    bool has_length() const noexcept;
    /// Returns the heap's length by its packets; if none had it, one past the last byte that arrived.
    std::uint64_t length() const noexcept;
    std::uint64_t received() const noexcept;  ///< bytes that arrived
    std::uint32_t packets() const noexcept;
    unsigned address_bits() const noexcept;  ///< XX of SPEAD-64-XX
    /// Returns when the first packet came, and next the last one, in nanoseconds since 1970, by the port's
    /// clock; 0: unknown. Always 0 as yet: no member of RecvConfig asks a port for its times.
    std::uint64_t first_time() const noexcept;
    std::uint64_t last_time() const noexcept;

    /// Returns length() bytes. Bytes that did not arrive are undefined. If the heap's packets are lent
    /// (RecvConfig::lend) and more than one, the first call copies them, on this thread; so do items() and
    /// bytes() for items with bytes.
    std::span<const std::byte> payload() const noexcept;
    /// Describes a part of the payload that lies in one piece.
    struct Segment {
        std::uint64_t offset = 0;  ///< in the payload
        std::span<const std::byte> bytes{};
    };
    /// Returns the bytes that arrived, in order, where they are: nothing is copied. A lent heap has a segment
    /// for each packet; a copied one, a segment for each run of bytes without a hole.
    std::vector<Segment> segments() const;
    /// Describes bytes [begin, end) of the payload.
    struct Hole {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    /// Returns the missing parts of payload(), in order; empty for complete heaps.
    std::vector<Hole> missing() const;
    /// Returns the items, those with bytes in the order of the payload, then immediates in the order of their
    /// values; without those of the packets themselves (heap count, heap length, payload offset and length).
    std::vector<Item> items() const;
    /// Returns the value of the immediate with this id that came first.
    std::optional<std::uint64_t> immediate(std::uint64_t id) const noexcept;
    /// Returns whether the heap carries a stream control item that says start; next: stop. Heaps that carry
    /// only such items are delivered only if RecvConfig::control_heaps asks for them.
    bool is_start_of_stream() const noexcept;
    bool is_end_of_stream() const noexcept;
    /// Returns the bytes of the first item with this id that has any; empty if there is none, or it did not
    /// arrive as a whole. items() is cheaper for several.
    std::span<const std::byte> bytes(std::uint64_t id) const;

    static constexpr std::size_t kLoanBytes = 4 * sizeof(void*);

  private:
    friend struct door::HeapAccess;
    explicit Heap(runtime::HeapLoan&& loan) noexcept;
    alignas(void*) std::byte loan_[kLoanBytes];
};

/// Counts since the stream was made (docs/counters.md).
///
/// packets = placed + duplicate + late + no_memory + filtered + held + control + stopped + captured +
/// rejected. Heaps that finished = heaps_taken + heaps_waiting + heaps_dropped + heaps_abandoned.
struct RecvStats {
    std::uint64_t packets = 0;            ///< addressed to the stream, as far as a receive queue had room
    std::uint64_t packets_placed = 0;     ///< contributed to a heap
    std::uint64_t packets_duplicate = 0;  ///< brought nothing new: with two paths, also the second copies
    std::uint64_t packets_late = 0;       ///< of heaps that were given up before, or too far ahead
    std::uint64_t packets_no_memory = 0;  ///< found no room: too many heaps live, waiting or held
    std::uint64_t packets_filtered = 0;   ///< dropped by the filter
    std::uint64_t packets_held = 0;       ///< taken by the filter (HeldPacket)
    std::uint64_t held_now = 0;           ///< of packets_held: not given back
    std::uint64_t hold_refused = 0;       ///< kept or dropped, because the filter held `held_buffers`
    std::uint64_t packets_control = 0;    ///< of heaps that carry only stream control
    std::uint64_t packets_stopped = 0;    ///< came when the stream had been stopped by a stop item
    std::uint64_t packets_captured = 0;   ///< ended in a capture
    std::uint64_t packets_rejected = 0;   ///< malformed, oversize, contradictory or out of order
    std::uint64_t packets_lost = 0;  ///< not in `packets`: the port's queue overflowed; of all its streams
    std::uint64_t bytes = 0;         ///< payload placed into heaps
    std::uint64_t heaps = 0;         ///< finished complete
    std::uint64_t heaps_incomplete = 0;  ///< finished with bytes missing
    std::uint64_t heaps_live = 0;        ///< not finished
    std::uint64_t heaps_taken = 0;       ///< by the user
    std::uint64_t heaps_waiting = 0;     ///< for the user
    std::uint64_t heaps_held = 0;        ///< of heaps_taken: the user has them; others were destroyed
    std::uint64_t heaps_lend_full = 0;   ///< copied, all or the rest, because `lend` buffers were out
    std::uint64_t heaps_dropped = 0;     ///< finished, and dropped because the queue was full
    std::uint64_t heaps_abandoned = 0;   ///< waited when the stream was destroyed
    // Of what is counted above.
    std::uint64_t heaps_evicted = 0;  ///< incomplete: newer heaps, or the timeout, ended them
    std::uint64_t heaps_flushed = 0;  ///< incomplete: the stream ended
    std::uint64_t stop_items = 0;     ///< packets that said stop
    // Only of a stream without a port; else 0.
    std::uint64_t bursts = 0;         ///< of packets that came together
    std::uint64_t largest_burst = 0;  ///< packets
    std::uint64_t blocked = 0;        ///< times that heaps began to wait for room in the queue
};

/// Receives heaps. Any thread may call anything, several at once may take heaps; one iterator is for one
/// thread. No thread may use the stream while it is moved, assigned or destroyed. A stream that was moved
/// from has ended: what can throw throws UsageError. In a child of fork(2) it throws Error, ended() is true,
/// and fd() must be left alone.
///
/// Heaps that carry only stream control are not delivered, and count as packets_control, unless
/// RecvConfig::control_heaps asks for them. The stream ends with a stop item if stop_on_stop_item says so;
/// then its heap comes before those that it cuts short.
///
/// Heaps of one lcore come in the order in which they finished. Destroying the stream stops it and drops the
/// waiting heaps; heaps that users hold stay valid.
class SPEAD_API RecvStream {
  public:
    /// Opens the port, unless another stream has; takes lcores and memory; joins the groups. Throws Error and
    /// UsageError; then there is no such stream. A port that was opened for it may stay open.
    RecvStream(const Process& process, const RecvConfig& config);
    /// Receives without a session and without EAL, on a thread of the stream's own, through sockets of the
    /// kernel: `backend` is Backend::kernel. Heaps, counts and waits are the same. `lcores` are the CPUs on
    /// which the thread may run. With OnFull::automatic, a full queue drops the newest heap.
    explicit RecvStream(const RecvConfig& config);
    /// Does the same from another source (spead/readers.hpp); `backend` is ignored. Sources that wait make
    /// OnFull::automatic block. A queue and a buffer need no endpoints: all of their packets are the
    /// stream's.
    RecvStream(const RecvConfig& config, const Reader& reader);
    RecvStream(RecvStream&&) noexcept;
    RecvStream& operator=(RecvStream&&) noexcept;
    ~RecvStream();

    /// Returns the name; empty after a move.
    const std::string& name() const noexcept;

    /// Waits for the next heap. Empty: the stream has ended, by stop(), a stop item, the end of a file or of
    /// the session, and all its heaps were taken.
    std::optional<Heap> get();
    /// Does the same with a limit: empty, too, when the time is over.
    std::optional<Heap> get_for(std::chrono::nanoseconds patience);
    /// Takes a waiting heap. When there is none, fd() becomes readable with the next one.
    std::optional<Heap> try_get();
    /// Returns whether no heap is waiting and none will come, unless start() is called.
    bool ended() const noexcept;
    /// Returns a descriptor for poll, epoll and asynchronous frameworks. It becomes readable when a heap or
    /// the end comes after try_get() has found nothing. After the end it stays readable. Owned by the stream.
    int fd() const noexcept;

    // Changes while it runs. Each throws Error, and has changed nothing, when the change cannot be.

    /// Receives (again), also after a stop item. A stream that has ended begins with new windows; when that
    /// throws, it stays ended, and start() may be tried again. Heaps of earlier starts may still wait;
    /// without a session, those of 16 starts at most.
    void start();
    /// Receives no more: groups are left, live heaps handed over; then get() ends. Does nothing when the
    /// session has ended. When the session does not carry it out, the stream receives on, and the log says
    /// so.
    void stop() noexcept;
    /// Receives from one more source, now and from each start. When one of its sources ends, the stream ends.
    /// A full queue is dealt with as the stream was made to. Throws UsageError for a stream that has a port,
    /// and for a mixture of sources with endpoints (sockets, pcap files) and without; Error when the source
    /// cannot be opened. Then nothing has changed. Before the first start, a source is opened by that: one
    /// that cannot be then leaves the stream, and the start throws.
    void add_reader(const Reader& reader);
    /// Receives these endpoints, too. Live heaps go on. With a second path that has endpoints of its own,
    /// `twin` names what they have there. Where both paths have the same endpoints, it is left out. All three
    /// throw UsageError for a stream without a session whose source has no endpoints (as Reader::buffer,
    /// Reader::queue).
    void add_endpoint(const std::string& endpoint);
    void add_endpoint(const std::string& endpoint, const std::string& twin);
    /// Leaves these endpoints, and their twins on a second path. Live heaps go on. The last endpoint cannot
    /// be removed; call stop() instead.
    void remove_endpoint(const std::string& endpoint);
    /// Receives on the lcores of these CPUs from now on; empty: on the least busy one. The stream begins with
    /// new windows, so its live heaps end incomplete. Throws UsageError for a stream without a session.
    void move_to(const std::vector<unsigned>& lcores);

    /// Returns the counts, from the lcores. After the end of the session: its last counts, of which
    /// `heaps_waiting` may have been taken since.
    RecvStats stats() const;

    /// Iterates until the stream ends: for (const spead::Heap& heap : stream).
    class iterator {  // NOLINT(readability-identifier-naming): as containers call it
      public:
        using value_type = Heap;
        using difference_type = std::ptrdiff_t;
        iterator() = default;
        explicit iterator(RecvStream& stream) : stream_(&stream) { ++*this; }
        const Heap& operator*() const { return *heap_; }
        Heap& operator*() { return *heap_; }
        iterator& operator++() {
            heap_.reset();  // gives its memory back before the wait
            heap_ = stream_->get();
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(std::default_sentinel_t) const noexcept { return !heap_; }

      private:
        RecvStream* stream_ = nullptr;
        std::optional<Heap> heap_;
    };
    iterator begin() { return iterator(*this); }
    std::default_sentinel_t end() const noexcept { return {}; }

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace spead
