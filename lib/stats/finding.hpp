// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Holds the result of a diagnosis; stats/diagnosis.hpp makes it.
namespace spead::stats {

/// Says where something was lost, in the order in which a packet passes.
enum class Stage : std::uint8_t {
    network,   ///< before this machine's port, sender included
    port,      ///< the NIC, or the socket in its place
    lcore,     ///< the loop that takes packets from the port
    classify,  ///< the choice of its stream
    packet,    ///< the validity of a packet
    window,    ///< heaps that are open at a time
    memory,    ///< heap memory
    consumer,  ///< the hand-over queue and its consumers
    transmit,  ///< sending
};
std::string_view name_of(Stage stage);

enum class Cause : std::uint8_t {
    network_loss,          ///< heaps stayed incomplete although nothing was lost here
    cut_by_join,           ///< no more heaps than may have begun before their groups were joined
    cut_by_change,         ///< heaps that were under way when their stream or its port was changed
    nothing_came,          ///< a stream had no packet, and none that it may have missed was seen
    path_silent,           ///< one of a stream's two paths brought nothing
    path_loss,             ///< one of a stream's two paths lacked packets that the other one brought
    path_behind,           ///< one of them was so far behind that its copies were delivered again
    duplicates,            ///< the same packets came more than once
    fragments,             ///< IP fragments that were not reassembled
    datagrams_incomplete,  ///< fragments of datagrams did not all come
    too_many_fragments,    ///< datagrams came in more fragments than can be reassembled
    reassembly_full,       ///< more datagrams were in the making than may be
    bad_checksums,         ///< damaged on the way
    gso_frames,            ///< a sender on this machine relies on its interface to segment packets
    receive_ring_short,    ///< the port's ring ran over although the lcore had time
    missed_at_start,       ///< the port's ring ran over before its lcores began to fetch
    no_buffers,            ///< the port's pool of buffers ran dry
    buffers_nearly_out,    ///< hardly any was free
    nic_errors,            ///< damaged frames, or packets that could not be sent
    lcore_too_slow,        ///< the port's ring ran over because its lcore was busy all the time
    lcore_silent,          ///< an lcore does not answer, or did not for a while
    lcore_held_up,         ///< an lcore was off its CPU for long, and its port's ring has held
    engine_stalled,        ///< an engine moves no payload, or did not for a while
    engine_too_slow,       ///< the port's ring ran over while an engine had no batch free for its packets
    lcore_interrupted,     ///< the port's ring ran over while its lcore was off its CPU
    unmatched,             ///< packets for groups, ports or sources that no stream names
    not_spead,             ///< packets that break a rule of SPEAD
    not_in_format,         ///< packets that break a rule of their stream's declared format
    marked_invalid,        ///< packets whose sender says that their data are invalid
    header_in_device,      ///< packets that their port cuts inside their header
    packets_too_large,     ///< above max_packet_size
    heaps_too_large,       ///< above max_heap_bytes
    contradictions,        ///< packets of one heap that do not fit together
    out_of_order,          ///< strict order was asked for
    max_live_too_small,    ///< senders interleave more heaps than may be open
    late,                  ///< packets of heaps that had been given up
    ghosts,                ///< heap counts with a packet or two: forged, stray, or nearly lost
    heap_limits,           ///< more item pointers or holes than a heap may have
    pool_too_small,        ///< no heap memory
    pool_nearly_full,      ///< hardly any was free
    consumer_holds_pool,   ///< no heap memory because heaps wait for the consumer, or are with it
    device_error,          ///< the engine that moves payload failed
    consumer_too_slow,     ///< the hand-over queue was full
    queue_nearly_full,     ///< it had hardly a place left
    callback_slow,         ///< a place callback took much of an lcore's time
    misplaced,             ///< packets that the placement of chunks has no place for
    future,                ///< packets too far from the open chunks
    place_silent,          ///< chunks have nothing of a place of an axis
    no_chunk,              ///< no chunk was free
    sink_failed,           ///< a full disk, or another error of a sink
    sink_full,             ///< the readers of a sink's ring left no room
    sink_no_place,         ///< the files of a sink have no place for a chunk
    send_timeout,          ///< heaps could not be sent in time
    port_takes_nothing,    ///< a port took no packets of a sender for a second or longer
    impaired,              ///< packets were impaired on purpose
};
std::string_view name_of(Cause cause);

/// Says how much a finding matters.
enum class Kind : std::uint8_t {
    loss,     ///< something is lost, or may be
    warning,  ///< nothing is lost yet
    note,     ///< on purpose, or normal at the start
};
std::string_view name_of(Kind kind);
Kind kind_of(Cause cause);

/// Holds the seconds after which a loss that no longer grows is over.
inline constexpr double kLately = 5;

/// Lists what to do about a loss, a clause each: "raise --ring-heaps". Commands, keys and values stand
/// between backticks, and can be used as they are.
class Cures : public std::vector<std::string> {
  public:
    Cures() = default;
    Cures(std::initializer_list<std::string> all) : std::vector<std::string>(all) {}
    Cures(std::string only) { push_back(std::move(only)); }
    Cures(const char* only) : Cures(std::string(only)) {}
};

struct Finding {
    Cause cause{};
    Stage stage{};
    std::string where;        ///< name of the stream, port or send
    std::uint64_t count = 0;  ///< how many
    std::string_view unit;    ///< packets, heaps, frames... in the plural
    std::string what;         ///< the loss and its cause: the rest of a sentence after the count and unit
    Cures cures;              ///< the most likely one first
    /// Holds the seconds of the run at which the count was first above 0, and at which it grew last. Equal to
    /// 0 if the run was not followed.
    double first_s = 0;
    double last_s = 0;
    /// Holds the time at which the part was changed; the finding describes the time until then. 0: it still
    /// holds.
    double until_s = 0;

    /// Returns the unit and `what` as they go with the count: "heap" and "was lost" for one of them.
    std::string_view unit_text() const noexcept;
    std::string what_text() const;
    /// Returns "s0: 12 heaps were thrown away because the consumer was slow; raise --ring-heaps; do less per
    /// heap". If it has ended, it says when, and names no cure.
    std::string sentence() const;
    /// Returns the same for a reader at `now`, in seconds of the run: if it has not grown lately, it says
    /// when it grew last.
    std::string sentence(double now) const;
    /// Returns the same without the cures.
    std::string loss(double now) const;

  private:
    std::string joined_cures() const;
    std::string last_clause(double now) const;
};

}  // namespace spead::stats
