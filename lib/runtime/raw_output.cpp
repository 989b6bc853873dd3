// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/raw_output.hpp"

#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "runtime/raw_writer_notices.hpp"

namespace spead::runtime {

RawOutput::RawOutput(const std::string& directory, std::string stream, Kind kind,
                     std::function<void(const char* what)> fail, const sink::RawWriter::Options& options)
    : stream_(std::move(stream)),
      kind_(std::move(kind)),
      fail_(std::move(fail)),
      directory_(directory, kind_.what),
      lines_(directory_.descriptor(), kind_.index, directory + '/' + kind_.index,
             fmt::format("the sink of {} writes", stream_), fmt::format("sink of {}", stream_)),
      writer_(options, hooks()) {
    tell_of_pwrite(writer_, stream_);
}

sink::RawWriter::Hooks RawOutput::hooks() {
    sink::RawWriter::Hooks hooks;
    hooks.open = [this] { return open(); };
    hooks.remove = [this](const sink::RawFile& file) { directory_.remove(file.name()); };
    hooks.append = [this](std::span<const sink::RawWriter::Note> notes, std::uint64_t& written) {
        std::string lines;
        for (const sink::RawWriter::Note& note : notes)
            lines += note.line;
        const std::uint64_t before = lines_.lines();
        const int error = lines_.append(lines);
        written = lines_.lines() - before;
        return error;
    };
    hooks.failed = [this](const std::string& file, int error) { fail_(failure(file, error).c_str()); };
    hooks.no_direct = no_direct_notice(stream_, directory_.path());
    return hooks;
}

std::shared_ptr<sink::RawFile> RawOutput::open() {
    OutputDirectory::Opened opened = directory_.open_new(stream_, ".raw", next_suffix_);
    if (opened.error != 0)
        throw Error(failure(opened.name, opened.error));
    next_suffix_ = opened.suffix + 1;
    return std::make_shared<sink::RawFile>(std::move(opened.file), std::move(opened.name));
}

std::string RawOutput::failure(const std::string& file, int error) const {
    const sink::RawWriter::Written done = writer_.written();
    return fmt::format("{}/{}: cannot write: {}; written before that: the payload of {} ({}), {} in {}/{}",
                       directory_.path(), file.empty() ? kind_.index : file, std::strerror(error),
                       counted(done.records, kind_.what), human_size(done.bytes),
                       counted(done.lines, "lines"), directory_.path(), kind_.index);
}

void RawOutput::add(std::span<const std::span<const std::byte>> parts, const Line& line,
                    const Sink::Settled& settled) {
    writer_.add(parts, line, settled);
}

void RawOutput::finish() {
    if (const int error = writer_.finish(); error != 0)
        throw_error(directory_.path(), "cannot cut a raw file to its length: {}", std::strerror(error));
}

}  // namespace spead::runtime
