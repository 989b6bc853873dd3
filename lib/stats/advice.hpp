// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/setting_limits.hpp"
#include "stats/snapshot.hpp"

namespace spead::stats {

/// Describes a setting of a stream that a cure may change.
struct StreamKey {
    std::string_view key;     ///< as the prompt names it: "heaps.queue_depth"
    std::string_view option;  ///< on the command line; empty: it has none
    std::uint64_t most = 0;   ///< as the configuration allows
    std::uint64_t StreamSettings::*now = nullptr;
    bool is_size = false;
    bool at_start = false;                        ///< memory is divided by it at the start
    double StreamSettings::*seconds = nullptr;    ///< in place of `now`: it is a time
    std::string StreamSettings::*text = nullptr;  ///< in place of `now`: it is a text
    bool is_phrase = false;                       ///< it has blanks, so that a command needs quotes around it
};
inline constexpr StreamKey kMaxLive{"heaps.max_live", "--max-heaps", kMostLiveHeaps,
                                    &StreamSettings::max_live};
inline constexpr StreamKey kHistory{"heaps.history", "--history", kMostHistory, &StreamSettings::history};
inline constexpr StreamKey kHistoryTime{
    .key = "heaps.history_time", .option = "--history-time", .seconds = &StreamSettings::history_time};
inline constexpr StreamKey kQueueDepth{"heaps.queue_depth", "--ring-heaps", kMostQueuedHeaps,
                                       &StreamSettings::queue_depth};
inline constexpr StreamKey kMaxBytes{
    "heaps.max_bytes", "--max-heap-bytes", kMostHeapBytes, &StreamSettings::max_bytes, true, true};
inline constexpr StreamKey kGatherMemory{"heaps.gather_memory",          "",   kMostHeapMemory,
                                         &StreamSettings::gather_memory, true, true};
inline constexpr StreamKey kMaxPacketSize{
    "max_packet_size", "--max-packet-size", kMostPacket, &StreamSettings::max_packet_size, false, true};
inline constexpr StreamKey kSubstreams{
    "substreams", "--substreams", kMostSubstreams, &StreamSettings::substreams, false, true};
inline constexpr StreamKey kInOrder{.key = "in_order", .option = "--in-order"};
inline constexpr StreamKey kGather{.key = "heaps.gather", .option = "--heap-memory"};
inline constexpr StreamKey kHeldBuffers{"held_buffers", "", kMostHeldBuffers, &StreamSettings::held_buffers};
inline constexpr StreamKey kChunks{"chunk.chunks", "--chunks", kMostChunks, &StreamSettings::chunks};
inline constexpr StreamKey kMaxJump{"chunk.max_jump", "", 0, &StreamSettings::max_jump};
inline constexpr StreamKey kHeapTimeout{
    .key = "heaps.timeout", .option = "--heap-timeout", .seconds = &StreamSettings::heap_timeout};
inline constexpr StreamKey kChunkTimeout{
    .key = "chunk.timeout", .option = "", .seconds = &StreamSettings::chunk_timeout};
inline constexpr StreamKey kChunkPatience{
    .key = "chunk.patience", .option = "", .seconds = &StreamSettings::chunk_patience};
inline constexpr StreamKey kPathSkew{
    .key = "path_skew", .option = "--path-skew", .seconds = &StreamSettings::path_skew};
inline constexpr StreamKey kPoll{.key = "poll", .option = "--poll", .text = &StreamSettings::poll};
inline constexpr StreamKey kFormat{.key = "format", .option = "--format"};
inline constexpr StreamKey kPlacement{
    .key = "chunk.placement", .option = "--placement", .text = &StreamSettings::placement, .is_phrase = true};
inline constexpr StreamKey kSinkKind{.key = "sink.kind", .option = ""};
inline constexpr StreamKey kWay{.key = "chunk.way", .option = ""};
inline constexpr StreamKey kDirectory{
    .key = "sink.directory", .option = "", .text = &StreamSettings::directory};
inline constexpr StreamKey kWindow{"chunk.window", "--chunk-window", kMostOpenChunks,
                                   &StreamSettings::window};

/// Writes single actions with the values, files and commands of the run. Where a value is unknown, it writes
/// the action without it. Pure.
class Advice {
  public:
    /// Refers to the snapshot, which outlives it.
    explicit Advice(const Snapshot& snapshot) : of_(snapshot) {}

    /// Returns "run `dpdk-spead attach ... stream stop s0`" for a command of the prompt. Empty: the process
    /// has no prompt.
    std::string prompt(std::string_view command) const;
    /// Returns the text as one word of such a command.
    std::string word(std::string_view text) const;
    /// Returns the action that stops the stream and starts it again: "run ..., then run ...".
    std::string begin_anew(const StreamSnapshot& s) const;
    /// Returns the action that sets a key of the stream to this text: at the prompt if there is one, else for
    /// the next start.
    std::string set(const StreamSnapshot& s, const StreamKey& key, std::string_view text) const;
    /// Returns the same for the next start only.
    std::string set_at_start(const StreamSnapshot& s, const StreamKey& key, std::string_view text) const;
    /// Returns the action that multiplies the value of the key, as far as the key allows; for the next start
    /// if the key needs one. Empty: it has its largest value.
    std::string raise(const StreamSnapshot& s, const StreamKey& key, std::uint64_t factor = 2) const;
    /// Returns the same, up to at least `least`.
    std::string raise_to(const StreamSnapshot& s, const StreamKey& key, std::uint64_t least) const;
    /// Returns the action that makes a time longer, or turns it off if `or_off`.
    std::string lengthen(const StreamSnapshot& s, const StreamKey& key, bool or_off = true) const;
    /// Returns the action that lets one path of the stream be so many seconds behind the other, with the
    /// times that must not be shorter.
    std::string allow_skew(const StreamSnapshot& s, double seconds) const;
    /// Returns the action that sets a key of the sender for the next start: `timeout`. `option`: of the
    /// command line; empty: it has none.
    std::string set_at_start(const SendSnapshot& s, std::string_view key, std::string_view option,
                             std::string_view text, std::string_view now) const;
    /// Returns the same for a key of the port.
    std::string set_at_start(const PortSnapshot& p, std::string_view key, std::string_view option,
                             std::uint64_t value, std::string_view now) const;
    /// Returns whether the command line of the run has the option.
    bool has_option(std::string_view option) const;
    /// Returns whether options of the command line are the only way to set something.
    bool is_by_option() const;
    /// Returns whether this one is.
    bool is_by_option(std::string_view option) const { return is_by_option() && has_option(option); }
    /// Returns the name of a setting without a value: its key in a run with a configuration file, the member
    /// that sets it in a program, and its option in a run from options. It is "`poll` of a configuration
    /// file" if the command of the run has no such option.
    std::string named(std::string_view option, std::string_view key) const;
    std::string named(const StreamKey& key) const { return named(key.option, key.key); }
    /// Returns the same to say what it is, not to set it: without "of a configuration file".
    std::string called(const StreamKey& key) const;
    /// Returns the name of what makes a sender's bursts smaller, in brackets. The sender may be another run.
    std::string burst_size() const;
    /// Returns whether a program's calls, and neither a file nor options, set the values of this run.
    bool is_by_program() const;
    /// Returns the action that gives heaps more memory, at least `least` bytes, as far as the machine has it.
    std::string raise_memory(const StreamSnapshot& s, std::uint64_t least = 0) const;
    /// Returns the actions that let the port's receive queue hold more; empty: it has its longest one.
    Cures raise_buffer(const PortSnapshot& p) const;
    enum class FragmentsAre : std::uint8_t { here, with_kernel };
    /// Returns the actions for packets of streams that come to the port as IP fragments, which it does not
    /// reassemble.
    Cures reassemble(const PortSnapshot& p, FragmentsAre where) const;
    /// Returns whether these packets are for an endpoint of the stream.
    static bool is_for(const StreamSnapshot& s, const PassedSnapshot& packets);
    /// Returns the endpoints of the stream whose packets may come by the port: of two paths, those of the one
    /// that is on it. If none is, those of both.
    static std::vector<std::string> endpoints_on(const StreamSnapshot& s, const PortSnapshot& p);
    /// Returns the destination beside the stream's endpoints, by their UDP port, of many packets that come to
    /// the port and that no stream names. Empty: there is none.
    static std::string destination_beside(const StreamSnapshot& s, const PortSnapshot& p);
    /// Returns the action that gives the streams of an lcore another CPU besides, or instead of, its own.
    std::string other_cpu(const LcoreSnapshot& l, const PortSnapshot& p, bool besides) const;
    /// Returns the action that shows what reaches the port: "see what arrives: `tcpdump ...`". Empty: the
    /// kernel does not see the port.
    std::string see_arrivals(const PortSnapshot& p) const;
    /// Returns the action that shows whether packets of the stream reach the port, and says what follows.
    /// `sender`: its name, or "the sender".
    std::string see_own_arrivals(const StreamSnapshot& s, const PortSnapshot& p,
                                 std::string_view sender) const;
    /// Returns the actions for a stream whose packets have other destinations than its endpoints.
    Cures receive_strays(const StreamSnapshot& s, const PortSnapshot& p) const;

    const Snapshot& snapshot() const noexcept { return of_; }

  private:
    std::string for_next_start(std::string_view root, const std::string& part, std::string_view key,
                               std::string_view option, std::string_view text, std::string_view now) const;
    std::string set_at_start(const StreamSnapshot& s, const StreamKey& key, std::string_view text,
                             std::string_view now) const;
    std::string enlarge_buffer(const PortSnapshot& p, const StreamSnapshot& s, std::uint64_t wanted) const;
    std::string set_device(const PortSnapshot& p, const std::string& device) const;
    std::string keep(const StreamSnapshot& s, const StreamKey& key, std::string_view text) const;
    /// Returns the action that lets the stream receive one more endpoint, of packets that come to the port.
    std::string add_endpoint(const StreamSnapshot& s, const PortSnapshot& p,
                             const std::string& endpoint) const;
    std::string add_with_twin(const StreamSnapshot& s, const PortSnapshot& p,
                              const std::string& endpoint) const;
    void start_stopped(const StreamSnapshot& with, const PortSnapshot& p, Cures& to) const;
    std::string more_in_socket(const PortSnapshot& p, const StreamSnapshot& s, Cures& to) const;

    const Snapshot& of_;
};

/// Holds the part of the packets for no stream, one in so many, above which their destination is named.
inline constexpr std::uint64_t kMostNamed = 4;

/// Returns the CPUs that the process may use and that have no lcore: its other threads run there, and other
/// programs may.
std::vector<unsigned> cpus_without_lcores(const Snapshot& run);
/// Returns the value as the prompt takes it: "1024", "32MiB".
std::string value_text(const StreamKey& key, std::uint64_t value);
/// Returns CPUs as the prompt takes them: "1,3".
std::string cpus_text(const std::vector<unsigned>& cpus);

}  // namespace spead::stats
