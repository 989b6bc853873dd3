// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/raw_output.hpp"

namespace spead::runtime {

/// Holds the outputs of a raw sink, one for each directory. Each has files, an index and a thread of its own.
/// Heaps or chunks go round them; an output that is behind is passed over while another has room for all of
/// the heap or chunk. If none has, it goes to the one with the most. One that has failed gets nothing more,
/// and the others go on.
class RawOutputs {
  public:
    /// Makes the directories. `fail` gets the first failure once all outputs have failed. Throws as
    /// RawOutput.
    RawOutputs(const std::vector<std::string>& directories, const std::string& stream,
               const RawOutput::Kind& kind, std::function<void(const char* what)> fail,
               const sink::RawWriter::Options& options = {});

    /// Adds to the next output, as RawOutput does. After a failure of all, `settled` gets false. Throws Error
    /// when no output can make a file; then `settled` is not called.
    void add(std::span<const std::span<const std::byte>> parts, const RawOutput::Line& line,
             const Sink::Settled& settled);
    /// Returns the path of a file that `line` gets, while add() calls it.
    std::string path_of(const sink::RawFile& file) const { return outputs_[last_].output.path_of(file); }
    void settle();
    /// Writes what is left. Throws Error when a file cannot be cut to its length, and when an output has
    /// failed.
    void finish();

  private:
    struct One {
        One(const std::string& directory, const std::string& stream, const RawOutput::Kind& kind,
            std::function<void(const char* what)> fail, const sink::RawWriter::Options& options)
            : output(directory, stream, kind, std::move(fail), options) {}

        std::atomic<bool> failed{false};
        RawOutput output;
    };

    One* next(std::size_t bytes) noexcept;
    void fail(std::size_t which, const char* what);

    std::string stream_;
    std::function<void(const char* what)> fail_;
    std::mutex mutex_;
    std::string failure_;     ///< of the first output that failed; guarded, as the next
    std::size_t failed_ = 0;  ///< outputs
    std::size_t last_ = 0;    ///< output of the last heap or chunk
    std::deque<One> outputs_;
};

}  // namespace spead::runtime
