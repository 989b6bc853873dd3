// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/hdf5_sink.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "runtime/raw_writer_notices.hpp"

namespace spead::runtime {

namespace {

using sink::ElementType;
using sink::Hdf5DataSet;

constexpr std::chrono::seconds kBetween{1};
/// Limits the placement's text, which is an attribute: the library takes up to 64 KiB with what describes it.
constexpr std::size_t kLongestPlacement = 65'000;
/// Names the files of a set; all have one stem.
constexpr std::array kBeside{".presence", ".chunks", ".timestamps", ".extra", ".h5"};

/// Holds what the data set `chunks` has of each chunk.
struct ChunkRecord {
    std::int64_t id;
    std::int64_t first_ns;
    std::int64_t last_ns;
};

const ElementType kSigned{'<', 'i', 8};
const ElementType kUnsigned{'<', 'u', 8};

/// Returns the lengths of the placement's axes, in its order, after that of the chunks.
std::vector<Hdf5DataSet::Axis> axes_of(const chunk::Placement& placement, std::uint64_t chunks) {
    std::vector<Hdf5DataSet::Axis> axes{{"chunk", chunks}};
    for (const chunk::Axis& axis : placement.axes)
        axes.push_back({axis.name, axis.count});
    return axes;
}

/// Writes all bytes at an offset. Returns 0, or errno.
int write_at(int file, std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
    while (!bytes.empty()) {
        const ssize_t n = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
    return 0;
}

std::string stem_of(const std::string& payload) {
    return payload.substr(0, payload.size() - std::strlen(".raw"));
}

void add_bytes(std::string& note, const void* bytes, std::size_t length) {
    note.append(static_cast<const char*>(bytes), length);
}

}  // namespace

Hdf5Content hdf5_content(const ReceivePlan& plan, const std::string& where) {
    if (!sink::has_hdf5())
        throw_usage(where,
                    "this program was built without HDF5; install libhdf5-dev and build again, or take a raw "
                    "sink");
    Hdf5Content content{plan.chunk->parsed(where), ElementType::parse(plan.sink.dtype, where),
                        plan.sink.rotate_size};
    sink::array_layout(content.placement, content.type, where);
    if (const std::size_t length = content.placement.text().size(); length > kLongestPlacement)
        throw_usage(
            where,
            "the placement's text has {} bytes, and an HDF5 file takes {} at most; shorten it, or take "
            "a zarr or raw sink",
            length, kLongestPlacement);
    return content;
}

Hdf5Sink::Hdf5Sink(const std::string& directory, std::string stream, const Hdf5Content& content)
    : stream_(std::move(stream)),
      content_(content),
      layout_(sink::array_layout(content.placement, content.type, "placement")),
      missing_(content.type.fill()),
      heaps_(content.placement),
      directory_(directory, "chunks"),
      writer_(options(), hooks()) {
    // Before the first chunk: a build without the library refuses here.
    sink::hdf5_description({}, {});
    tell_of_pwrite(writer_, stream_);
}

sink::RawWriter::Options Hdf5Sink::options() const {
    sink::RawWriter::Options options;
    options.rotate_size = content_.rotate_size;
    return options;
}

sink::RawWriter::Hooks Hdf5Sink::hooks() {
    sink::RawWriter::Hooks hooks;
    hooks.open = [this] { return open(); };
    hooks.remove = [this](const sink::RawFile& file) { directory_.remove(file.name()); };
    hooks.append = [this](std::span<const sink::RawWriter::Note> notes, std::uint64_t& written) {
        return append(notes, written);
    };
    hooks.idle = [this] { return describe_later(); };
    hooks.failed = [this](const std::string& file, int error) {
        const sink::RawWriter::Written done = writer_.written();
        fail(fmt::format("{}/{}: cannot write: {}; written before that: the payload of {} ({})",
                         directory_.path(), file.empty() ? stem_ + ".h5" : file, std::strerror(error),
                         counted(done.records, "chunks"), human_size(done.bytes))
                 .c_str());
    };
    hooks.no_direct = no_direct_notice(stream_, directory_.path());
    return hooks;
}

std::shared_ptr<sink::RawFile> Hdf5Sink::open() {
    for (;;) {
        OutputDirectory::Opened opened = directory_.open_new(stream_, ".raw", next_suffix_);
        if (opened.error != 0)
            throw_error(directory_.path() + '/' + opened.name, "cannot write: {}",
                        std::strerror(opened.error));
        next_suffix_ = opened.suffix + 1;
        if (!is_beside(stem_of(opened.name)))
            return std::make_shared<sink::RawFile>(std::move(opened.file), std::move(opened.name));
        // Files without their payload are still somebody's.
        directory_.remove(opened.name);
    }
}

/// Returns whether a file with this stem is there, besides the payload's.
bool Hdf5Sink::is_beside(const std::string& stem) const noexcept {
    return std::any_of(kBeside.begin(), kBeside.end(), [&](const char* extension) {
        return faccessat(directory_.descriptor(), (stem + extension).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    });
}

void Hdf5Sink::hand_chunk(const chunk::Chunk& chunk, const Settled& settled) noexcept {
    if (!attempt([&] { add(chunk, settled); }))
        settled(false);
}

void Hdf5Sink::add(const chunk::Chunk& chunk, const Settled& settled) {
    heaps_.fill(chunk, missing_);
    const std::span<const std::byte> payload = chunk.data;
    const auto note = [&](const sink::RawFile*, std::uint64_t) {
        const ArrivalTimes arrival = clock_.arrival_of(chunk);
        const ChunkRecord record{chunk.id, arrival.first_ns, arrival.last_ns};
        // In the order of sets().
        std::string bytes;
        add_bytes(bytes, chunk.present.data(), chunk.present.size());
        add_bytes(bytes, &record, sizeof record);
        const chunk::Axis& time = content_.placement.axes[content_.placement.time_axis()];
        for (std::uint64_t i = 0; i < time.count; i++) {
            const std::uint64_t at = static_cast<std::uint64_t>(chunk.id) * time.count + i;
            const std::uint64_t value = (at * time.term.step + time.term.first) << time.term.shift;
            add_bytes(bytes, &value, sizeof value);
        }
        add_bytes(bytes, chunk.extra.data(), chunk.extra.size());
        return bytes;
    };
    writer_.add({&payload, 1}, note, settled);
}

/// Returns the data sets of the present files, the payload's first.
std::vector<Hdf5DataSet> Hdf5Sink::sets() const {
    const chunk::Placement& placement = content_.placement;
    std::vector<Hdf5DataSet> all;
    Hdf5DataSet data{"data", stem_ + ".raw", {{"chunk", chunks_}}, {{"", content_.type}}};
    for (const sink::ArrayAxis& axis : layout_.axes)
        data.axes.push_back({axis.name, axis.count});
    all.push_back(std::move(data));
    Hdf5DataSet presence{"presence", stem_ + ".presence", axes_of(placement, chunks_), {{"", {}}}};
    if (const std::uint32_t packets = placement.check().packets_per_heap; packets > 1)
        presence.axes.push_back({"packet", packets});
    all.push_back(std::move(presence));
    all.push_back({"chunks",
                   stem_ + ".chunks",
                   {{"chunk", chunks_}},
                   {{"id", kSigned}, {"first_ns", kSigned}, {"last_ns", kSigned}}});
    const chunk::Axis& time = placement.axes[placement.time_axis()];
    all.push_back({"timestamps",
                   stem_ + ".timestamps",
                   {{"chunk", chunks_}, {time.name, time.count}},
                   {{"", kUnsigned}}});
    if (!placement.extras.empty()) {
        Hdf5DataSet extra{"extra", stem_ + ".extra", axes_of(placement, chunks_), {}};
        for (std::size_t i = 0; i < placement.extras.size(); i++) {
            const unsigned bytes = placement.extras[i].bytes;
            extra.members.push_back({placement.extras.size() == 1 ? "" : fmt::format("extra{}", i),
                                     {bytes == 1 ? '|' : '<', 'u', bytes}});
        }
        all.push_back(std::move(extra));
    }
    return all;
}

/// Appends what belongs to chunks. Called by the writer's thread.
int Hdf5Sink::append(std::span<const sink::RawWriter::Note> notes, std::uint64_t& written) {
    for (const sink::RawWriter::Note& note : notes) {
        if (stem_ + ".raw" != note.file->name())
            if (const int error = begin(*note.file); error != 0)
                return error;
        if (const int error = append_one(note.line); error != 0)
            return error;
        chunks_++;
        if (const int error = describe_later(); error != 0) {
            chunks_--;
            return error;
        }
        written++;
    }
    return 0;
}

/// Writes the HDF5 file, unless it was written within the last second. Returns 0, or errno.
int Hdf5Sink::describe_later() {
    return described_ == 0 || Clock::now() - last_ >= kBetween ? describe() : 0;
}

/// Ends the files before this one, and makes those beside it. Returns 0, or errno.
int Hdf5Sink::begin(const sink::RawFile& file) {
    if (const int error = describe(); error != 0)
        return error;
    stem_ = stem_of(file.name());
    sides_.clear();
    described_ = 0;
    // For the bytes of a chunk.
    chunks_ = 1;
    std::vector<Hdf5DataSet> all = sets();
    chunks_ = 0;
    for (std::size_t i = 1; i < all.size(); i++) {
        Side side;
        side.piece = all[i].bytes();
        side.set = std::move(all[i]);
        // O_EXCL follows no link.
        side.file = FileDescriptor(openat(directory_.descriptor(), side.set.file.c_str(),
                                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (!side.file)
            return errno;
        sides_.push_back(std::move(side));
    }
    return 0;
}

int Hdf5Sink::append_one(const std::string& note) {
    std::span<const std::byte> rest = std::as_bytes(std::span(note));
    for (const Side& side : sides_) {
        const std::span<const std::byte> piece = rest.first(side.piece);
        if (const int error = write_at(side.file.get(), piece, chunks_ * side.piece); error != 0)
            return error;
        rest = rest.subspan(side.piece);
    }
    return 0;
}

/// Writes the HDF5 file, if there are chunks that it does not have. Returns 0, or errno.
int Hdf5Sink::describe() {
    if (chunks_ == described_)
        return 0;
    std::vector<std::byte> bytes;
    try {
        bytes =
            sink::hdf5_description(sets(), {{"stream", stream_}, {"placement", content_.placement.text()}});
    } catch (const Error&) {
        return EIO;
    }
    OutputDirectory::Opened part = directory_.open_new('.' + stem_, ".h5");
    int error = part.error;
    if (error == 0)
        error = write_at(part.file.get(), bytes, 0);
    if (error == 0 && close(part.file.release()) != 0)
        error = errno;
    if (error == 0 && renameat(directory_.descriptor(), part.name.c_str(), directory_.descriptor(),
                               (stem_ + ".h5").c_str()) != 0)
        error = errno;
    if (error != 0) {
        directory_.remove(part.name);
        return error;
    }
    described_ = chunks_;
    last_ = Clock::now();
    return 0;
}

void Hdf5Sink::consume_chunk(const chunk::Chunk& chunk) {
    bool kept = false;
    add(chunk, [&kept](bool k) { kept = k; });
    settle();
    if (!kept)
        throw Error(failure());
}

void Hdf5Sink::finish() {
    int error = writer_.finish();
    // The writer's thread has ended.
    if (const int described = describe(); error == 0)
        error = described;
    if (error != 0)
        throw_error(directory_.path() + '/' + stem_ + ".h5", "cannot end the files: {}",
                    std::strerror(error));
}

}  // namespace spead::runtime
