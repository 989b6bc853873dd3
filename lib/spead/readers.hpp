// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <spead/recv.hpp>
#include <string>

/// Lets a stream receive without EAL and without privileges: from memory, from this process, from files.
namespace spead {

/// Carries datagrams from threads of this process to a stream, as a network without loss: a bounded queue.
///
/// A handle: all copies mean the same queue. Any thread may call anything.
class SPEAD_API InprocQueue {
  public:
    /// Makes a queue for `most` datagrams, and `most_bytes` in them. Throws UsageError when one is 0.
    explicit InprocQueue(std::size_t most = 1024, std::size_t most_bytes = SIZE_MAX);

    /// Copies the handle. There is no move.
    InprocQueue(const InprocQueue&) = default;
    InprocQueue& operator=(const InprocQueue&) = default;
    ~InprocQueue() = default;

    /// Copies the bytes of one UDP datagram into the queue, at most kLongest. Waits for room. Returns false
    /// when the queue has been stopped. Throws UsageError for a longer one.
    bool push(std::span<const std::byte> datagram);
    /// Does the same with a limit. Returns false, too, when the time is over; 0: does not wait.
    bool push_for(std::span<const std::byte> datagram, std::chrono::nanoseconds patience);
    /// Ends the queue: no further datagram gets in. Streams end when they have taken those in it.
    void stop() noexcept;
    bool stopped() const noexcept;
    /// Returns how many datagrams wait.
    std::size_t size() const noexcept;

    static constexpr std::size_t kLongest = 65507;  ///< bytes

    struct State;

  private:
    friend class Reader;
    friend class Writer;
    std::shared_ptr<State> state_;
};

/// Chooses UDP packets of a file by IPv4 addresses ("10.0.0.1") and ports; empty or 0: any.
struct PcapMatch {
    std::string host{};  ///< the sender or the destination
    std::string source{};
    std::string destination{};
    std::uint16_t port = 0;  ///< of the sender or the destination
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
};

/// Names a source of packets that needs no EAL. Each start of a stream opens it anew.
class SPEAD_API Reader {
  public:
    /// Copies the name. There is no move.
    Reader(const Reader&) = default;
    Reader& operator=(const Reader&) = default;
    ~Reader() = default;

    /// Names sockets of the kernel: the stream's endpoints, joined on RecvConfig::interface (a network
    /// interface or its address; empty: the kernel's choice).
    static Reader sockets();
    /// Names SPEAD packets that stand one after the other in memory, which outlives the stream.
    static Reader buffer(std::span<const std::byte> packets);
    static Reader queue(const InprocQueue& queue);
    /// Names a bound UDP socket of the user's, IPv4 or IPv6, which is duplicated: close it as you like. All
    /// of its packets are the stream's, wherever they were sent to. `max_packet_size`: bytes; longer packets
    /// are rejected; 0: RecvConfig::max_packet_size, which holds besides. Throws Error.
    static Reader socket(int fd, std::uint32_t max_packet_size = 0);
    /// Names no source: packets come from readers that are added (RecvStream::add_reader).
    static Reader none();
    /// Names a pcap file of Ethernet frames (not pcapng), of which the stream takes its endpoints' packets.
    static Reader pcap(std::string path);
    /// Names such a file, of which the stream takes all UDP packets that match, wherever they were sent to.
    /// Throws UsageError for an invalid address.
    static Reader pcap_packets(std::string path, const PcapMatch& match = {});

    struct Source;
    const Source& source() const noexcept { return *source_; }

  private:
    explicit Reader(std::shared_ptr<const Source> source) noexcept : source_(std::move(source)) {}
    std::shared_ptr<const Source> source_;
};

}  // namespace spead
