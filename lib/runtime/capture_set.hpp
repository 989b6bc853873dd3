// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capture/capture.hpp"
#include "runtime/lcore_set.hpp"
#include "runtime/plan.hpp"
#include "runtime/stream.hpp"
#include "stats/snapshot.hpp"

namespace spead::runtime {

/// Holds the captures of a run: those that take packets (Stream::capture), those that were stopped while
/// their threads still write, and the results of those that are over.
///
/// Main thread only. Only stop_all() waits for a disk. A capture that an lcore may still write into is never
/// freed.
class CaptureSet {
  public:
    using Streams = std::vector<std::unique_ptr<Stream>>;

    /// Refers to both, which outlive the set. A capture that failed is added to the problems of the run.
    CaptureSet(LcoreSet& lcores, std::vector<std::string>& problems) : lcores_(lcores), problems_(problems) {}

    /// Captures the packets of a stream that is received and not captured yet. The capture's threads run on
    /// the CPUs `control`. Throws Error when a file cannot be made, LcoreLost.
    void start(Stream& stream, const ReceivePlan& plan, const capture::Options& options,
               const std::vector<unsigned>& control);
    /// Does the same with the capture options of the plan. Returns false when the plan has none, when the
    /// stream is captured already, or when this was done before: a capture that is over stays over, and
    /// another one would overwrite its files.
    bool start_planned(Stream& stream, const ReceivePlan& plan, const std::vector<unsigned>& control);
    /// Takes the taps off. The threads go on until everything is in the files. Returns false when an lcore
    /// does not answer.
    bool stop(Stream& stream);
    /// Stops a capture that start_planned() has started, because its stream's change failed. The next
    /// start_planned() starts it again.
    void take_back(Stream& stream);
    /// Ends the captures whose time is over. Keeps the results of those whose files are complete.
    void collect(const Streams& streams);
    /// Stops all captures and waits for the disks.
    void stop_all(const Streams& streams);

    /// Holds that a file of a capture cannot be written.
    struct Failure {
        std::string stream;
        bool former = false;  ///< another stream may have the name now
        std::string text;
    };
    /// Returns the captures that have failed since the last call, each once.
    std::vector<Failure> new_failures(const Streams& streams);

    /// Marks the stream's captures as those of a former stream.
    void stream_removed(const std::string& stream);

    /// Returns what has been written, before the lcores are asked what they took.
    std::vector<stats::CaptureSnapshot> written(const Streams& streams) const;
    /// Adds the lcores' counts, as they were last reported, to the result of written().
    void add_taken(const Streams& streams, std::vector<stats::CaptureSnapshot>& captures) const;
    /// Returns the result of a stopped capture, once its files are complete.
    std::optional<stats::CaptureSnapshot> stopped(std::uint64_t number) const;

  private:
    /// Holds a capture that was stopped while its threads still write. Its taps belong to no lcore.
    struct Ending {
        std::uint64_t number = 0;
        std::string stream;
        bool former = false;  ///< the stream was removed since
        std::unique_ptr<capture::Capture> capture;

        stats::CaptureSnapshot snapshot() const;
    };

    void end_in_time(const Streams& streams);
    void put_aside(const Ending& ending);

    LcoreSet& lcores_;
    std::vector<std::string>& problems_;
    std::vector<Ending> ending_;
    std::vector<Failure> failures_;  ///< of captures that are no longer here, not reported yet
    std::vector<stats::CaptureSnapshot> past_;
    std::set<std::string, std::less<>> planned_;  ///< streams whose planned capture was started
    std::uint64_t last_number_ = 0;
};

/// Returns whether a run that only captures has nothing left to do: every stream is captured, and every
/// capture is over.
bool captures_over(const CaptureSet::Streams& streams);

}  // namespace spead::runtime
