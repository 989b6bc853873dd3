// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_verify_sink.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/verify_sequence.hpp"

namespace spead::runtime {

namespace {

constexpr std::uint64_t kSequenceWord = 4;
constexpr std::uint64_t kMostReported = 10;

/// Returns the number that the term has for the value of its item; none: no place has it.
std::optional<std::uint64_t> number_of(const chunk::Term& term, std::uint64_t value) {
    value = value >> term.shift & term.mask;
    if (!term.list.empty()) {
        const auto found = std::find(term.list.begin(), term.list.end(), value);
        if (found == term.list.end())
            return std::nullopt;
        return static_cast<std::uint64_t>(found - term.list.begin());
    }
    if (value < term.first || ((value - term.first) % term.step != 0 && !term.truncate))
        return std::nullopt;
    return (value - term.first) / term.step;
}

}  // namespace

ChunkVerifySink::ChunkVerifySink(std::string stream, chunk::Placement placement)
    : stream_(std::move(stream)),
      placement_(std::move(placement)),
      layout_(placement_.check()),
      strides_(placement_.strides()),
      time_(placement_.time_axis()),
      rows_(placement_.rows.bytes == 0 ? 0 : placement_.heap_bytes) {
    const auto counted = std::count_if(placement_.axes.begin(), placement_.axes.end(), [](const auto& axis) {
        return axis.term.kind == chunk::Term::Kind::heap;
    });
    const chunk::Term& time = placement_.axes[time_].term;
    const bool by_count = time.kind == chunk::Term::Kind::heap;
    if (by_count ? counted != 1 || time.shift != 0 || ~time.mask != 0 || time.truncate || !time.list.empty()
                 : counted != 0)
        throw_usage(
            fmt::format("receive {}", stream_),
            "the sink `verify` cannot tell heap counts from `{}`: let the time be the plain heap count, "
            "as in `time: heap - 1 [8]`, or no axis; or give another sink",
            placement_.text());
}

void ChunkVerifySink::consume_chunk(const chunk::Chunk& chunk) {
    const std::size_t each = layout_.packets_per_heap;
    Place place(placement_.axes.size());
    for (std::size_t heap = 0; heap < layout_.heaps; heap++) {
        const auto packets = chunk.present.subspan(heap * each, each);
        if (std::find(packets.begin(), packets.end(), 0) != packets.end())
            continue;
        std::size_t rest = heap;
        for (std::size_t i = placement_.axes.size(); i-- > 0; rest /= placement_.axes[i].count)
            place[i] = rest % placement_.axes[i].count;
        const std::string fault = fault_of(chunk, place, payload_of(chunk, place));
        if (!fault.empty() && compared_wrong() < kMostReported)
            log_error(LogType::runtime, "stream {}: chunk {}: heap at {}: {}", stream_, chunk.id,
                      fmt::join(place, ","), fault);
        count_compared(fault.empty());
    }
}

/// Returns the payload of a heap, in one piece.
std::span<const std::byte> ChunkVerifySink::payload_of(const chunk::Chunk& chunk, const Place& place) {
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < place.size(); i++)
        at += place[i] * strides_[i];
    if (placement_.rows.bytes == 0)
        return chunk.data.subspan(at, placement_.heap_bytes);
    for (std::uint64_t done = 0; done < rows_.size(); at += placement_.rows.stride) {
        const std::uint64_t n = std::min(placement_.rows.bytes, rows_.size() - done);
        std::memcpy(&rows_[done], &chunk.data[at], n);
        done += n;
    }
    return rows_;
}

/// Returns what is wrong with a heap; empty: nothing.
std::string ChunkVerifySink::fault_of(const chunk::Chunk& chunk, const Place& place,
                                      std::span<const std::byte> heap) const {
    const chunk::Axis& time = placement_.axes[time_];
    if (time.term.kind != chunk::Term::Kind::heap)
        return pattern_fault(chunk, place, heap);
    const std::uint64_t step = static_cast<std::uint64_t>(chunk.id) * time.count + place[time_];
    const std::uint64_t cnt = time.term.first + step * time.term.step;
    const std::size_t right = verify_check(heap, verify_heap_start(cnt, heap.size() / kSequenceWord));
    return right == heap.size()
               ? std::string()
               : fmt::format("it is not that of heap {}, from byte {} of {}", cnt, right, heap.size());
}

std::string ChunkVerifySink::pattern_fault(const chunk::Chunk& chunk, const Place& place,
                                           std::span<const std::byte> heap) const {
    const std::optional<PatternName> name = pattern_name(heap);
    if (!name)
        return "its payload does not name it, as those of `send --pattern` do";
    const PatternItems items = pattern_items(name->pattern, name->heap);
    for (std::size_t i = 0; i < place.size(); i++) {
        const chunk::Axis& axis = placement_.axes[i];
        if (axis.term.kind != chunk::Term::Kind::item)
            continue;
        const std::optional<std::uint64_t> value = items.value(axis.term.id);
        std::optional<std::uint64_t> number = value ? number_of(axis.term, *value) : std::nullopt;
        std::uint64_t wanted = place[i];
        if (i == time_ && number) {
            // The time wraps, and chunk ids do not.
            wanted += static_cast<std::uint64_t>(chunk.id) * axis.count;
            const unsigned bits = placement_.time_bits();
            const std::uint64_t values = bits < 64 ? std::uint64_t{1} << bits : 0;
            if (values != 0 && values % axis.term.step == 0)
                wanted %= values / axis.term.step;
        }
        if (number != wanted)
            return fmt::format("its payload is of another {}: {} instead of {}",
                               axis.name.empty() ? "time" : axis.name,
                               number ? fmt::format("{}", *number) : "one without a place", wanted);
    }
    const std::size_t right = pattern_check(heap, name->pattern, name->heap);
    return right == heap.size() ? std::string()
                                : fmt::format("byte {} of {} is not of its pattern", right, heap.size());
}

}  // namespace spead::runtime
