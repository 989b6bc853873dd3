// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/dada_chunk_sink.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace spead::runtime {

namespace {

constexpr std::array kZero{std::byte{0}};

}  // namespace

DadaChunkSink::DadaChunkSink(const SinkPlan& plan, const std::string& stream,
                             const chunk::Placement& placement)
    : missing_(placement),
      output_(plan, stream, placement.check().bytes, "chunks", [this](const char* why) { lose(why); }),
      bytes_(placement.check().bytes),
      first_(output_.knows_start() ? 0 : -1) {}

void DadaChunkSink::hand_chunk(const chunk::Chunk& chunk, const Settled& settled) noexcept {
    bool kept = false;
    kept = attempt([&] { kept = add(chunk); }) && kept;
    settled(kept);
}

/// Returns whether the chunk is not lost.
bool DadaChunkSink::add(const chunk::Chunk& chunk) {
    const auto chunks = static_cast<std::uint64_t>(chunk.id - first_);
    // After a jump of the sender's time, the row of bytes begins anew.
    if (first_ < 0 || chunk.id < first_ || chunks > (UINT64_MAX - bytes_) / bytes_) {
        first_ = chunk.id;
        start_ = time_of_arrival(chunk.first_arrival);
    }
    // For readers without the presence.
    missing_.fill(chunk, kZero);
    const std::span<const std::byte> payload = chunk.data;
    const auto offset = static_cast<std::uint64_t>(chunk.id - first_) * bytes_;
    return output_.write({offset, chunk.id, start_}, {&payload, 1});
}

}  // namespace spead::runtime
