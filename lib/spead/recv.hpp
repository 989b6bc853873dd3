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

/// What an idle receive lcore does: polls without a pause, pauses more and more, or sleeps until the port
/// interrupts.
enum class Poll : std::uint8_t { adaptive, busy, interrupt };

/// What happens to a finished heap that finds no room because the user is slow. `automatic` blocks where the
/// source loses nothing by waiting (files, rings, memif), and drops the newest heap elsewhere.
enum class OnFull : std::uint8_t { automatic, drop_newest, drop_oldest, block };

class PacketFilter;

/// Describes a stream; names and defaults as in the configuration's [[receive]].
struct RecvConfig {
    std::vector<std::string> endpoints{};  ///< "239.10.10.0+15:7148": sixteen groups
    /// Where packets come from, as a person names it: a network interface, an IP address of this machine, a
    /// PCI address, an RDMA device or a DPDK device string. Empty: $DPDK_SPEAD_INTERFACE, or the only
    /// candidate.
    std::string interface {};
    std::string name{};              ///< in logs and reports; empty: chosen
    std::vector<unsigned> lcores{};  ///< CPUs, several share the heaps; empty: the next that is free
    Poll poll = Poll::adaptive;
    std::uint32_t max_packet_size = 9200;             ///< UDP payload bytes
    std::size_t buffer_size = std::size_t{16} << 20;  ///< bytes that the port's receive queue holds
    std::uint32_t substreams = 1;                     ///< windows; the heap count modulo this picks one
    std::uint32_t max_heaps = 4;                      ///< live heaps of each substream
    std::uint32_t ring_heaps = 256;                   ///< finished heaps that wait for the user
    std::uint64_t max_heap_bytes = std::uint64_t{64} << 20;  ///< larger heaps are refused and counted
    std::size_t memory = std::size_t{128} << 20;             ///< for heap payloads, on each lcore
    bool in_order = false;                     ///< takes a heap's packets in order only, as spead2 does
    bool stop_on_stop_item = false;            ///< the stream ends with the first stop item
    std::chrono::nanoseconds heap_timeout{0};  ///< gives a heap up after so long without a packet; 0: never
    OnFull on_full = OnFull::automatic;
    std::string filter{};  ///< an expression over item values and endpoints (docs/filter.md); empty: all
    /// Makes a filter of the user's own, one for each lcore; empty: none. Not together with `filter`.
    std::function<std::unique_ptr<PacketFilter>()> packet_filter{};
    bool start = true;  ///< false: the stream receives from start() on
};

/// One item pointer of a heap.
struct Item {
    std::uint64_t id = 0;
    bool immediate = false;              ///< `value` is the item's value; else `bytes` are
    std::uint64_t value = 0;             ///< host byte order
    std::span<const std::byte> bytes{};  ///< in the heap's memory
};

/// A received heap, lent to the user: a move-only handle. Its memory is valid until the handle is destroyed,
/// on any thread, also after the stream or the session has ended. A stream that cannot get its heaps back
/// runs out of memory and counts what it then has to drop.
class SPEAD_API Heap {
  public:
    Heap() noexcept;
    Heap(Heap&& other) noexcept;
    Heap& operator=(Heap&& other) noexcept;
    Heap(const Heap&) = delete;
    Heap& operator=(const Heap&) = delete;
    ~Heap();

    /// False: the handle is empty, and nothing else here may be called.
    explicit operator bool() const noexcept;
    std::uint64_t cnt() const noexcept;
    /// Whether all bytes arrived and every item lies within them.
    bool complete() const noexcept;
    /// Returns the heap's length as its packets told; where none did, one past the last byte that arrived.
    std::uint64_t length() const noexcept;
    std::uint64_t received() const noexcept;  ///< bytes that arrived
    std::uint32_t packets() const noexcept;
    unsigned address_bits() const noexcept;  ///< XX of SPEAD-64-XX
    /// Returns when the first and the last packet came, in nanoseconds since 1970, by the port's clock; 0
    /// where the port does not tell.
    std::uint64_t first_time() const noexcept;
    std::uint64_t last_time() const noexcept;

    /// Returns length() bytes. Bytes that did not arrive are undefined.
    std::span<const std::byte> payload() const noexcept;
    /// Returns the item pointers in the order in which they came, without those of the packet itself (heap
    /// count, heap length, payload offset and length).
    std::vector<Item> items() const;
    /// Returns the first item with this id, as far as it is an immediate.
    std::optional<std::uint64_t> immediate(std::uint64_t id) const noexcept;
    /// Returns the bytes of the first item with this id; empty if there is none, or it did not arrive.
    std::span<const std::byte> bytes(std::uint64_t id) const noexcept;

    struct Loan;

  private:
    friend class RecvStream;
    friend class ItemGroup;
    explicit Heap(std::unique_ptr<Loan> loan) noexcept;
    std::unique_ptr<Loan> loan_;
};

/// Counts since the stream was made. Every packet is in one of the groups of `packets`.
struct RecvStats {
    std::uint64_t packets = 0;           ///< addressed to the stream, as far as a receive queue had room
    std::uint64_t bytes = 0;             ///< payload placed into heaps
    std::uint64_t heaps = 0;             ///< complete, handed over or waiting for it
    std::uint64_t heaps_incomplete = 0;  ///< handed over or waiting for it
    std::uint64_t heaps_dropped = 0;     ///< finished, and no room was left in the ring
    std::uint64_t heaps_waiting = 0;     ///< in the ring now
    std::uint64_t packets_lost = 0;      ///< the port's queue overflowed; of all streams of the port
    std::uint64_t packets_rejected = 0;  ///< malformed, too large, late, without memory, filtered...
};

/// Receives heaps. One thread at a time uses the consuming calls (get, get_for, try_get, the iterator, fd);
/// any thread may use the others.
///
/// Heaps of one lcore come in the order in which they finished. Destroying the stream stops it; heaps that
/// are out stay valid.
class SPEAD_API RecvStream {
  public:
    /// Opens the port, unless another stream has; takes lcores and memory; joins the groups. Throws Error and
    /// UsageError, and nothing is left behind.
    RecvStream(const Process& process, const RecvConfig& config);
    RecvStream(RecvStream&&) noexcept;
    RecvStream& operator=(RecvStream&&) noexcept;
    ~RecvStream();

    const std::string& name() const noexcept;

    /// Waits for the next heap. Empty: the stream has ended, by stop(), a stop item, the end of a file or of
    /// the session, and all its heaps were taken.
    std::optional<Heap> get();
    /// The same with a limit: empty, too, when the time is over.
    std::optional<Heap> get_for(std::chrono::nanoseconds patience);
    /// Takes a heap that is there. When there is none, fd() becomes readable with the next one.
    std::optional<Heap> try_get();
    /// Whether no heap will come any more.
    bool ended() const noexcept;
    /// Returns a descriptor for poll, epoll and asynchronous frameworks: readable when try_get() found
    /// nothing and a heap, or the end, has come since. Owned by the stream.
    int fd() const noexcept;

    // Changes while it runs. Each throws Error, and has changed nothing, when the change cannot be.

    void start();          ///< receives (again)
    void stop() noexcept;  ///< receives no more: groups are left, live heaps handed over; then get() ends
    void add_endpoint(const std::string& endpoint);
    void remove_endpoint(const std::string& endpoint);
    void move_to(const std::vector<unsigned>& lcores);  ///< CPUs

    RecvStats stats() const;

    /// Iterates until the stream ends: for (const spead::Heap& heap : stream).
    class iterator {
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
