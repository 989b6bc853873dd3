// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_sink.hpp"

#include <exception>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "runtime/chunk_file_sink.hpp"
#include "runtime/chunk_notices.hpp"
#include "runtime/chunk_verify_sink.hpp"
#include "runtime/dada_chunk_sink.hpp"
#include "runtime/hdf5_sink.hpp"
#include "runtime/raw_chunk_sink.hpp"
#include "runtime/zarr_sink.hpp"

namespace spead::runtime {

void check_readable(SinkKind sink, memory::MemoryKind kind, const std::string& where) {
    if (memory::cpu_accessible(kind) || sink == SinkKind::null || sink == SinkKind::user)
        return;
    const char* const name = sink == SinkKind::raw    ? "raw"
                             : sink == SinkKind::zarr ? "zarr"
                             : sink == SinkKind::hdf5 ? "hdf5"
                             : sink == SinkKind::dada ? "dada"
                             : sink == SinkKind::file ? "file"
                                                      : "verify";
    throw_usage(
        where,
        "the sink `{}` reads payload, and the CPU cannot read {} memory; set the `kind` of the sink to "
        "null, or `memory` of [receive.chunk] to host or pinned",
        name, memory::name_of(kind));
}

void ChunkSink::notify(std::shared_ptr<ChunkNotices> notices) noexcept {
    notices_ = std::move(notices);
}

void ChunkSink::give_chunk(const chunk::Chunk& chunk, const Settled& settled) noexcept {
    if (!notices_) {
        hand_chunk(chunk, settled);
        return;
    }
    try {
        notice_ = std::make_shared<ChunkNotice>(notices_->begin(chunk));
    } catch (const std::exception&) {
        // Without memory for a notice, the chunk still counts.
        notice_.reset();
    }
    hand_chunk(chunk, [settled, notices = notices_, notice = notice_](bool kept) {
        settled(kept);
        if (!kept || !notice)
            return;
        try {
            notices->send(std::move(*notice));
        } catch (const std::exception&) {
            // As above.
        }
    });
    // Its chunk is given back.
    notice_.reset();
}

void ChunkSink::wrote(const std::string& path, std::uint64_t offset) noexcept {
    if (!notice_)
        return;
    try {
        ChunkNotices::add_place(*notice_, path, offset);
    } catch (const std::exception&) {
        // A notice without a place is better than none.
    }
}

namespace {

std::unique_ptr<ChunkSink> sink_without_notices(const ReceivePlan& plan) {
    const std::string where = fmt::format("receive {}", plan.name);
    check_readable(plan.sink.kind, kind_of(plan.chunk->memory), where);
    switch (plan.sink.kind) {
        case SinkKind::verify:
            return std::make_unique<ChunkVerifySink>(plan.name, plan.chunk->parsed(where));
        case SinkKind::file:
            return std::make_unique<ChunkFileSink>(plan.sink.directory, plan.name, plan.chunk->parsed(where));
        case SinkKind::raw:
            return std::make_unique<RawChunkSink>(directories_of(plan.sink), plan.name,
                                                  plan.chunk->parsed(where), raw_options(plan.sink));
        case SinkKind::zarr:
            return std::make_unique<ZarrSink>(plan.sink.directory, plan.name, zarr_content(plan, where));
        case SinkKind::hdf5:
            return std::make_unique<Hdf5Sink>(plan.sink.directory, plan.name, hdf5_content(plan, where));
        case SinkKind::dada:
            return std::make_unique<DadaChunkSink>(plan.sink, plan.name, plan.chunk->parsed(where));
        case SinkKind::null:
        case SinkKind::user:
            break;
    }
    return std::make_unique<NullChunkSink>();
}

}  // namespace

std::unique_ptr<ChunkSink> make_chunk_sink(const ReceivePlan& plan) {
    std::unique_ptr<ChunkSink> sink = sink_without_notices(plan);
    if (!plan.sink.notify.empty())
        sink->notify(std::make_shared<ChunkNotices>(
            plan.sink.notify, plan.name, plan.chunk->parsed(fmt::format("receive {}", plan.name))));
    return sink;
}

}  // namespace spead::runtime
