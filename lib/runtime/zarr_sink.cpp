// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/zarr_sink.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "runtime/raw_writer_notices.hpp"
#include "sink/block.hpp"

namespace spead::runtime {

namespace {

/// Holds the fixed part of a note; the presence and the extra values follow it.
struct NoteHead {
    std::int64_t id;
    std::int64_t first_ns;
    std::int64_t last_ns;
    std::uint64_t presence_bytes;
};

std::string note_of(const chunk::Chunk& chunk, const WallClock& clock) {
    const ArrivalTimes arrival = clock.arrival_of(chunk);
    const NoteHead head{chunk.id, arrival.first_ns, arrival.last_ns, chunk.present.size()};
    std::string note(sizeof head + chunk.present.size() + chunk.extra.size(), '\0');
    std::memcpy(note.data(), &head, sizeof head);
    if (!chunk.present.empty())
        std::memcpy(note.data() + sizeof head, chunk.present.data(), chunk.present.size());
    if (!chunk.extra.empty())
        std::memcpy(note.data() + sizeof head + chunk.present.size(), chunk.extra.data(), chunk.extra.size());
    return note;
}

ZarrStore::Chunk chunk_of(const std::string& note) {
    NoteHead head{};
    std::memcpy(&head, note.data(), sizeof head);
    const auto rest = std::as_bytes(std::span(note)).subspan(sizeof head);
    return {head.id, rest.first(head.presence_bytes), rest.subspan(head.presence_bytes), head.first_ns,
            head.last_ns};
}

const char* reason_of(ZarrStore::Refusal refusal) noexcept {
    switch (refusal) {
        case ZarrStore::Refusal::present:
            return "its file exists already, and no file is overwritten";
        case ZarrStore::Refusal::before_first:
            return "the arrays begin with a later chunk";
        case ZarrStore::Refusal::too_far:
        case ZarrStore::Refusal::none:
            break;
    }
    return "it is too far from the first chunk of the arrays";
}

}  // namespace

ZarrContent zarr_content(const ReceivePlan& plan, const std::string& where) {
    ZarrContent content;
    content.placement = plan.chunk->parsed(where);
    content.type = sink::ElementType::parse(plan.sink.dtype, where);
    content.column = sink::parse_column(plan.sink.columns, plan.sink.column, where);
    content.margin = content.column.count > 1 ? plan.chunk->window : 0;
    sink::array_layout(content.placement, content.type, where);
    sink::check_column(content.placement, content.column, where);
    return content;
}

ZarrSink::ZarrSink(const std::string& directory, std::string stream, const ZarrContent& content)
    : stream_(std::move(stream)),
      content_(content),
      missing_(content.type.fill()),
      heaps_(content.placement),
      store_(directory, stream_, content),
      writer_(options(), hooks()) {
    tell_of_pwrite(writer_, stream_);
}

sink::RawWriter::Options ZarrSink::options() const {
    sink::RawWriter::Options options;
    options.file_per_record = true;
    // Each file has as much room as it takes.
    options.reserve = sink::whole_sectors(content_.placement.check().bytes);
    return options;
}

sink::RawWriter::Hooks ZarrSink::hooks() {
    sink::RawWriter::Hooks hooks;
    hooks.open = [this] { return store_.open_part(); };
    hooks.remove = [this](const sink::RawFile& part) { store_.remove_part(part.name()); };
    hooks.append = [this](std::span<const sink::RawWriter::Note> notes, std::uint64_t& written) {
        return publish(notes, written);
    };
    hooks.failed = [this](const std::string&, int error) {
        const sink::RawWriter::Written done = writer_.written();
        fail(fmt::format("{}: cannot write: {}; written before that: the payload of {} ({})", store_.path(),
                         std::strerror(error), counted(done.records, "chunks"), human_size(done.bytes))
                 .c_str());
    };
    hooks.no_direct = no_direct_notice(stream_, store_.path());
    return hooks;
}

void ZarrSink::hand_chunk(const chunk::Chunk& chunk, const Settled& settled) noexcept {
    if (!attempt([&] { add(chunk, settled); }))
        settled(false);
}

void ZarrSink::add(const chunk::Chunk& chunk, const Settled& settled) {
    heaps_.fill(chunk, missing_);
    const std::span<const std::byte> payload = chunk.data;
    const auto note = [&](const sink::RawFile*, std::uint64_t) { return note_of(chunk, clock_); };
    const auto kept = [this, settled](bool written) {
        if (written) {
            written = kept_.front();
            kept_.pop_front();
        }
        settled(written);
    };
    writer_.add({&payload, 1}, note, kept);
}

/// Publishes chunks, in their order. Called by the writer's thread.
int ZarrSink::publish(std::span<const sink::RawWriter::Note> notes, std::uint64_t& written) {
    for (const sink::RawWriter::Note& note : notes) {
        const ZarrStore::Chunk chunk = chunk_of(note.line);
        ZarrStore::Refusal refusal{};
        if (const int error = store_.publish(*note.file, note.end, chunk, refusal); error != 0)
            return error;
        kept_.push_back(refusal == ZarrStore::Refusal::none);
        written++;
        if (refusal != ZarrStore::Refusal::none)
            tell(chunk.id, refusal);
    }
    return 0;
}

/// Tells of a chunk without a place: the report of the last one, and the log once.
void ZarrSink::tell(std::int64_t id, ZarrStore::Refusal refusal) {
    lose(fmt::format("chunk {} has no place: {}", id, reason_of(refusal)).c_str(), Lack::place);
    if (!std::exchange(told_, true))
        log_warning(LogType::runtime,
                    "stream {}: chunk {} is not written to {}: {}. Such chunks count as unwritten", stream_,
                    id, store_.path(), reason_of(refusal));
}

void ZarrSink::consume_chunk(const chunk::Chunk& chunk) {
    bool kept = false;
    add(chunk, [&kept](bool k) { kept = k; });
    settle();
    if (!kept)
        throw Error(failed() ? failure() : fmt::format("chunk {} has no place", chunk.id));
}

void ZarrSink::finish() {
    if (const int error = writer_.finish(); error != 0)
        throw_error(store_.path(), "cannot end a chunk's file: {}", std::strerror(error));
    // The writer's thread has ended.
    if (const int error = store_.finish(); error == EBUSY)
        throw_error(store_.path(), "the arrays lack the last chunks: another process holds its file .lock");
    else if (error != 0)
        throw_error(store_.path(), "cannot make the arrays longer: {}", std::strerror(error));
}

}  // namespace spead::runtime
