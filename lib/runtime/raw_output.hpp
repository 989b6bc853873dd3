// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/lines_file.hpp"
#include "runtime/output_directory.hpp"
#include "runtime/sink.hpp"
#include "sink/raw_writer.hpp"

namespace spead::runtime {

/// Returns the options that a plan asks for.
inline sink::RawWriter::Options raw_options(const SinkPlan& plan) {
    sink::RawWriter::Options options;
    options.rotate_size = plan.rotate_size;
    return options;
}

/// Holds what a raw sink writes to a directory: STREAM.raw, with all heaps or chunks one after the other, and
/// the index, which has a line for each. Overwrites no file: the next run writes STREAM-2.raw.
class RawOutput {
  public:
    /// Says what the stream brings, for messages: "heaps".
    struct Kind {
        std::string_view what;
        std::string index;  ///< name of the file of lines
    };
    using Line = std::function<std::string(const sink::RawFile* file, std::uint64_t offset)>;

    /// Makes the directory; its parent must exist. `fail` gets the first failure, on the writer's thread.
    /// Throws Error as OutputDirectory.
    RawOutput(const std::string& directory, std::string stream, Kind kind,
              std::function<void(const char* what)> fail, const sink::RawWriter::Options& options = {});

    /// Adds a heap or chunk, which is written later. After a failure, `settled` gets false. Throws Error when
    /// no file can be made; then `settled` is not called.
    void add(std::span<const std::span<const std::byte>> parts, const Line& line,
             const Sink::Settled& settled);
    /// Returns the bytes of the largest heap or chunk that need not wait for the disk.
    std::size_t room() const { return writer_.room(); }
    /// Returns the path of one of its files.
    std::string path_of(const sink::RawFile& file) const { return directory_.path() + '/' + file.name(); }
    void settle() { writer_.settle(); }
    /// Writes what is left. Throws Error when the file cannot be cut to its length.
    void finish();

  private:
    sink::RawWriter::Hooks hooks();
    std::shared_ptr<sink::RawFile> open();
    std::string failure(const std::string& file, int error) const;

    std::string stream_;
    Kind kind_;
    std::function<void(const char* what)> fail_;
    OutputDirectory directory_;
    LinesFile lines_;
    unsigned next_suffix_ = 1;  ///< of the next file; those before it exist
    sink::RawWriter writer_;
};

}  // namespace spead::runtime
