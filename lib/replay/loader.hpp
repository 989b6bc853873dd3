// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capture/pcap_reader.hpp"
#include "replay/capture_window.hpp"
#include "replay/rewrite.hpp"

namespace spead::replay {

/// Counts the records of a pass by their fate: records = frames + the rest.
struct LoadCounts {
    std::uint64_t records = 0;   ///< whole ones in the files
    std::uint64_t frames = 0;    ///< to be sent
    std::uint64_t cut = 0;       ///< less than was on the wire (snap length)
    std::uint64_t runts = 0;     ///< shorter than an Ethernet header
    std::uint64_t too_long = 0;  ///< longer than the port sends
    std::uint64_t not_udp = 0;   ///< cannot be given another destination; also: one of the other IP version
    bool operator==(const LoadCounts&) const = default;
};

/// Reads capture files as one, record by record, and puts their frames, rewritten, into windows.
///
/// A file's records keep their order, whatever their times are. A record that is up to kClockStep earlier
/// than one before it gets that one's time (the lcores of a capture differ by so much). If it is earlier
/// still, the clock was set back: from there on the file's times continue from the former ones.
///
/// One thread. Throws Error when a file cannot be read. An incomplete file ends before the incomplete record,
/// and that is one of the warnings.
class Loader {
  public:
    enum class Order : std::uint8_t {
        time,     ///< all files together, by their records' times: they were captured at once
        sequence  ///< one after another
    };
    static constexpr std::uint64_t kClockStep = 1'000'000'000;  ///< ns

    /// Opens all files and reads their heads. `longest_frame`: the port's limit in bytes.
    Loader(const std::vector<std::string>& files, Order order, RewriteRules rules,
           std::uint32_t longest_frame, const std::string& where);

    /// Ends fill() early, as at the end of a pass, once `stop` is set. `stop` outlives this.
    void stop_with(const std::atomic<bool>& stop) noexcept { stop_ = &stop; }

    /// Returns the bytes of all files; their frames take less memory.
    std::uint64_t size() const noexcept;

    /// Empties the window and puts the next frames in, until it is full or the pass ends. Returns whether the
    /// pass goes on. Times continue from pass to pass.
    bool fill(CaptureWindow& window);

    /// Makes the next fill() begin with the first record again.
    void rewind();

    /// Returns the counts of this pass; complete once fill() has returned false.
    const LoadCounts& counts() const noexcept { return counts_; }
    /// Returns the time from the beginning of a pass to that of the next, in ns; known once fill() has
    /// returned false.
    std::uint64_t period_ns() const noexcept { return clock_.period; }
    const std::vector<std::string>& warnings() const noexcept { return warnings_; }
    /// Returns a sentence about the old destinations of `map` that no datagram had; none if there are none,
    /// or no pass is complete yet.
    std::optional<std::string> unmatched() const;

  private:
    struct Source {
        capture::PcapReader reader;
        capture::PcapReader::Record record{};
        bool there = false;       ///< `record` is the next one
        std::uint64_t time = 0;   ///< of `record`: the file's, made never to decrease
        std::uint64_t shift = 0;  ///< added to the file's times, since its clock was set back
    };

    /// Holds what turns the files' times into times in the run.
    struct Clock {
        const Source* last = nullptr;  ///< source of the last record
        std::uint64_t origin = 0;      ///< the file's time that is `base` in the run
        std::uint64_t base = 0;
        std::uint64_t latest = 0;  ///< time in the run of the last record
        std::uint64_t gap = 0;     ///< before it
        std::uint64_t pass = 0;    ///< when this pass began
        std::uint64_t period = 0;  ///< from there to the beginning of the next
    };

    void advance(Source& source);
    static void follow_clock(Source& source);
    Source* next_source();
    std::uint64_t time_of(const Source& source);
    bool wanted(const capture::PcapReader::Record& record);

    std::string where_;
    Order order_;
    RewriteRules rules_;
    std::uint32_t longest_;
    std::vector<Source> sources_;
    std::vector<std::string> warnings_;
    std::set<const NewDestination*> matched_;  ///< entries of `map`
    bool whole_ = false;                       ///< a pass has come to its end
    LoadCounts counts_;
    bool begun_ = false;  ///< the pass
    Clock clock_;
    const std::atomic<bool>* stop_ = nullptr;
};

}  // namespace spead::replay
