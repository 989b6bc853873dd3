// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <spead/memory.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace spead {

class Writer;

/// Describes a sender. The ranges are those of the configuration's [[send]] (docs/configuration.md), where
/// `first_cnt` is first_count, and `cnt_step` is count_step.
struct SendConfig {
    std::vector<std::string> endpoints{};  ///< substream i is the i-th endpoint; "239.20.0.0+63:7148" are 64
    std::string interface {};              ///< as RecvConfig::interface
    std::string name{};                    ///< in logs and reports; empty: chosen
    std::optional<unsigned> lcore{};       ///< CPU; empty: the next that is free
    double rate = 0;                       ///< UDP payload bytes per second; 0: unlimited
    std::size_t burst_size = 65536;        ///< bytes sent between two looks at the clock
    double burst_rate_ratio = 1.05;        ///< how much faster late packets catch up
    std::uint8_t ttl = 1;
    std::uint8_t dscp = 0;
    /// Holds the MAC address for packets to unicast endpoints: the host's, or the router's. Empty: the kernel
    /// finds it, on interfaces that it sees.
    std::string dst_mac{};
    bool udp_checksum = false;
    std::uint32_t max_packet_size = 0;    ///< UDP payload bytes; 0: 1472, and 1452 to addresses of IPv6
    std::uint32_t max_heaps = 4;          ///< in flight
    std::chrono::nanoseconds timeout{0};  ///< within which a heap must be sent; 0: as long as it takes
    std::uint64_t first_cnt = 1;          ///< heap counts: first_cnt, first_cnt + cnt_step...
    std::uint64_t cnt_step = 1;
};

/// Describes an item for receivers: a descriptor of the SPEAD protocol.
struct ItemDescription {
    std::uint64_t id = 0;
    std::string name{};
    std::string description{};
    std::vector<std::int64_t> shape{};  ///< -1: a dimension that varies
    std::string dtype{};                ///< of numpy (">u2", "<f4", "|u1"); or
    std::string format{};               ///< fields as "u12", "f32", "c8", of any width: "u12 u12"
};

/// Holds items to be sent, which refer to the user's memory, in order. Built by one thread at a time.
///
/// From its submission until its completion a heap is in flight: neither the heap nor the memory of its items
/// may change or be freed; changing the heap throws Error. Afterwards it can be changed and sent again; that
/// costs nothing if only the bytes behind the items changed.
class SPEAD_API SendHeap {
  public:
    /// Makes an empty heap. `address_bits`: XX of SPEAD-64-XX, 8..56 in steps of 8.
    explicit SendHeap(unsigned address_bits = 48);
    SendHeap(SendHeap&&) noexcept;
    SendHeap& operator=(SendHeap&&) noexcept;
    /// Waits for the completion of a heap in flight first, so that memory that is destroyed after it is no
    /// longer read. After 10 s its stream is stopped, which gives the heap up; after 20 s the wait ends, and
    /// the log says that the memory may still be read.
    ~SendHeap();

    // Each returns the item's number in the heap and throws Error for an id below 5 or above the flavour's.

    std::size_t add(std::uint64_t id, std::span<const std::byte> bytes);
    template <class T, std::size_t kExtent>
    std::size_t add(std::uint64_t id, std::span<T, kExtent> values) {
        return add(id, std::span<const std::byte>(std::as_bytes(values)));
    }
    /// Does as the first, and a value of at most address_bits / 8 bytes travels inside the item pointer: as
    /// the big-endian integer that it is when the heap is submitted.
    std::size_t add_small(std::uint64_t id, std::span<const std::byte> bytes);
    /// Does as the first for memory of a GPU, `address` being a CUdeviceptr. All of it lies in one Memory of
    /// the stream's session, or in several without a gap: else the submission throws Error.
    std::size_t add_on_gpu(std::uint64_t id, std::uintptr_t address, std::size_t bytes);
    std::size_t add_immediate(std::uint64_t id, std::uint64_t value);
    std::size_t add_descriptor(const ItemDescription& item);
    /// Adds a descriptor in the form of the wire, of this heap's address_bits. The heap keeps a copy.
    std::size_t add_encoded_descriptor(std::span<const std::byte> encoded);
    std::size_t add_start();  ///< tells receivers that the stream starts
    std::size_t add_stop();   ///< tells receivers that the stream ends

    void set_immediate(std::size_t item, std::uint64_t value);
    void set_bytes(std::size_t item, std::span<const std::byte> bytes);
    /// Puts all item pointers into every packet, so that a receiver understands the heap without the first.
    void repeat_pointers(bool yes);

    /// Lets the heap be sent without items, too: as a packet with a byte of padding.
    void may_be_empty(bool yes);

    bool in_flight() const noexcept;
    /// Returns the payload of the UDP datagrams that a stream would send now. Throws Error when the packets
    /// are too small for the heap, for a count that does not fit, and for items in memory of a GPU.
    std::vector<std::vector<std::byte>> packets(std::uint64_t cnt, std::size_t max_packet_size);

    struct State;

  private:
    friend class SendStream;
    std::shared_ptr<State> state_;
};

enum class SendStatus : std::uint8_t {
    sent,       ///< every packet was given to the port, or to the writer
    aborted,    ///< the stream, its port or the session ended before
    timed_out,  ///< SendConfig::timeout was over before
    refused     ///< the writer refused a packet (SendResult::error); the packets after it were not sent
};

struct SendResult {
    SendStatus status = SendStatus::sent;
    std::uint64_t cnt = 0;    ///< the heap's count
    std::uint64_t bytes = 0;  ///< of the packets of a heap that was sent: the payload of UDP
    int error = 0;            ///< of a refused heap: an error number of the system, as EMSGSIZE
};

struct SendOptions {
    std::uint32_t substream = 0;
    std::optional<std::uint64_t> cnt{};  ///< empty: the next of the sequence
    std::optional<double> rate{};        ///< of this heap; 0: unlimited
};

/// Says how the heaps of a group follow each other.
enum class GroupMode : std::uint8_t {
    serial,      ///< one heap after the other
    round_robin  ///< a packet of each in turn, until all are sent
};

/// Names one heap of a group, and how it is sent.
struct GroupHeap {
    SendHeap& heap;
    SendOptions options{};
};

/// Counts since the stream was made.
struct SendStats {
    std::uint64_t heaps = 0;    ///< sent, without those of end()
    std::uint64_t packets = 0;  ///< given to the port
    std::uint64_t bytes = 0;    ///< payload of them
    std::uint64_t heaps_aborted = 0;
    std::uint64_t heaps_timed_out = 0;
    std::uint64_t heaps_refused = 0;
    /// Counts packets that were made and not sent: refused by the port or the writer, or given up with their
    /// heap.
    std::uint64_t packets_dropped = 0;
};

/// Sends heaps from the user's memory. One thread at a time uses send, try_send, async_send, their like for
/// groups, wait_for, flush, poll, end and try_end; any thread may use the others.
///
/// Items in registered Memory are sent without a copy if the port can; all others are copied by the lcore.
/// Items in memory of a GPU are never copied: a stream that cannot send from there throws Error. It knows of
/// no kernels and copies: submit the heap when the work that fills the memory is done. A card may keep the
/// last 31 buffers, of 16 packets, until more are sent, and heaps with one of them stay in flight as long.
/// When the session or the port ends, heaps in flight complete as aborted, and further ones are refused with
/// an Error. Destroying the stream waits 5 s for the heaps in flight, and gives up the rest. What can throw
/// throws UsageError once the stream was moved from, and Error in a child of fork(2).
class SPEAD_API SendStream {
  public:
    /// Opens the port, unless another stream has, and takes an lcore. Throws Error and UsageError; then there
    /// is no such stream. A port that was opened for it may stay open.
    SendStream(const Process& process, const SendConfig& config);
    /// Sends without EAL, on a thread of the stream's own, which runs on the CPU `lcore` if one is named.
    /// Takes of the configuration what a port does not need: `dst_mac` is refused, and `udp_checksum` is the
    /// kernel's. Throws Error and UsageError.
    SendStream(const SendConfig& config, const Writer& writer);
    /// Does the same with sockets of the kernel (Writer::sockets()).
    explicit SendStream(const SendConfig& config);
    SendStream(SendStream&&) noexcept;
    SendStream& operator=(SendStream&&) noexcept;
    ~SendStream();

    const std::string& name() const noexcept;
    std::size_t substreams() const noexcept;  ///< endpoints

    /// Submits the heap, and waits while max_heaps are in flight. The heap and its memory are the stream's
    /// until it is completed. Throws Error: the heap is in flight, is empty, has more items than a packet
    /// holds, an unknown substream, a count that does not fit; or the stream has stopped.
    void send(SendHeap& heap, const SendOptions& options = {});
    /// Does the same without waiting. Returns false when max_heaps are in flight.
    bool try_send(SendHeap& heap, const SendOptions& options = {});
    /// Does the same with a function for the result, which is called as that of async_send().
    bool try_send(SendHeap& heap, const SendOptions& options, std::function<void(const SendResult&)> done);
    /// Does as send(), and returns a future of the heap's result. Calls of this stream fulfil it: poll(),
    /// wait_for(), flush(), send(). When the stream ends before, the heap's status is `aborted`.
    std::future<SendResult> async_send(SendHeap& heap, const SendOptions& options = {});
    /// Does the same with a function, which those calls run on the calling thread.
    void async_send(SendHeap& heap, std::function<void(const SendResult&)> done,
                    const SendOptions& options = {});

    // Groups: all heaps are submitted, in this order, or none. Each is a heap in flight of its own. Each
    // throws Error as send() does, and for no heap, one that stands twice, or more than max_heaps.

    void send_heaps(std::span<const GroupHeap> group, GroupMode mode);
    /// Does the same without waiting. Returns false when there is no room for all.
    bool try_send_heaps(std::span<const GroupHeap> group, GroupMode mode);
    bool try_send_heaps(std::span<const GroupHeap> group, GroupMode mode,
                        std::function<void(std::span<const SendResult>)> done);
    /// Submits as send_heaps(). Returns a future of the heaps' results, in the order of the group, which is
    /// fulfilled as that of async_send() when the last of them is completed.
    std::future<std::vector<SendResult>> async_send_heaps(std::span<const GroupHeap> group, GroupMode mode);
    /// Does the same with a function, which is called once.
    void async_send_heaps(std::span<const GroupHeap> group, GroupMode mode,
                          std::function<void(std::span<const SendResult>)> done);

    /// Waits until the heap is no longer in flight; at once if it is not. Throws Error when it was given up,
    /// and when its lcore does not answer: then it stays in flight. Throws UsageError when it is in flight in
    /// another stream.
    void wait_for(const SendHeap& heap);
    /// Waits until no heap is in flight, sent or not. Throws Error when the lcore does not answer.
    void flush();
    /// Takes the present completions; returns how many. Never waits. From the first call of fd() on, the
    /// descriptor becomes readable with the next completion, and when the stream ends.
    std::size_t poll();
    int fd() const noexcept;
    std::size_t in_flight() const noexcept;

    /// Sends a heap with a stop item to every endpoint, and waits for it. Throws Error when the stream or its
    /// session is stopped meanwhile, and what a function of async_send() throws. Some endpoints may have no
    /// stop item then.
    void end();
    /// Submits a heap with a stop item to one endpoint, as end() does, without waiting. Returns false when
    /// max_heaps are in flight. `done` is called as that of async_send(). Throws Error when the stream has
    /// stopped, and for an unknown substream.
    bool try_end(std::uint32_t substream, std::function<void(const SendResult&)> done);
    /// Gives up unsent heaps, which complete as aborted.
    void stop() noexcept;

    // Changes while it runs. Each throws Error, and has changed nothing, when the change cannot be.

    void set_rate(double bytes_per_second);
    void set_ttl(std::uint8_t ttl);
    /// Gives the next heap without a count of its own this one, and `step` more to each after it.
    void set_cnt_sequence(std::uint64_t next, std::uint64_t step);

    SendStats stats() const;

  private:
    struct State;
    bool submit(SendHeap& heap, const SendOptions& options, std::function<void(const SendResult&)> done,
                bool wait);
    bool submit_group(std::span<const GroupHeap> group, GroupMode mode,
                      std::function<void(std::span<const SendResult>)> done, bool wait);

    std::unique_ptr<State> state_;
};

}  // namespace spead
