// SPDX-License-Identifier: BSD-3-Clause
#include "spead/place_adapter.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace spead::door {

namespace {

static_assert(sizeof(PlaceData) == sizeof(chunk::Spead2PlaceData));
static_assert(offsetof(PlaceData, chunk_id) == offsetof(chunk::Spead2PlaceData, chunk_id));
static_assert(offsetof(PlaceData, batch_stats) == offsetof(chunk::Spead2PlaceData, batch_stats));
static_assert(offsetof(PlaceData, extra_size) == offsetof(chunk::Spead2PlaceData, extra_size));

std::vector<chunk::StatKind> kinds_of(const PlaceCallback& callback) {
    std::vector<chunk::StatKind> kinds;
    for (const StatKind kind : callback.stats)
        kinds.push_back(kind == StatKind::sum ? chunk::StatKind::sum : chunk::StatKind::maximum);
    return kinds;
}

/// Returns how many presence bytes the number of a heap counts.
std::uint32_t packets_of(const PlaceCallback& callback) {
    return callback.chunk.by_chunk ? 1 : callback.chunk.packets_per_heap;
}

/// Is a callback of one heap at a time on one lane, with its counters.
struct OnePlace {
    OnePlace(const PlaceCallback& c, std::shared_ptr<PlaceStats> sums)
        : place(c.place_one_with_user != nullptr
                    ? chunk::Spead2Place(c.place_one_with_user, c.user, kinds_of(c), packets_of(c))
                    : chunk::Spead2Place(c.place_one, kinds_of(c), packets_of(c))),
          stats(std::move(sums)) {
        if (stats)
            stats->add(place);
    }
    ~OnePlace() {
        if (stats)
            stats->remove(place);
    }
    OnePlace(const OnePlace&) = delete;
    OnePlace& operator=(const OnePlace&) = delete;

    chunk::Spead2Place place;
    std::shared_ptr<PlaceStats> stats;
};

}  // namespace

void PlaceStats::add(const chunk::Spead2Place& place) {
    const std::lock_guard lock(mutex_);
    places_.push_back(&place);
}

void PlaceStats::remove(const chunk::Spead2Place& place) noexcept {
    const std::lock_guard lock(mutex_);
    join(place, past_);
    std::erase(places_, &place);
}

std::vector<std::uint64_t> PlaceStats::values() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint64_t> all = past_;
    for (const chunk::Spead2Place* const place : places_)
        join(*place, all);
    return all;
}

void PlaceStats::join(const chunk::Spead2Place& place, std::vector<std::uint64_t>& to) noexcept {
    for (std::size_t i = 0; i < to.size(); i++)
        to[i] = chunk::Spead2Place::join(place.stats()[i], to[i], place.stat(i));
}

void BatchPlace::call(void* self, std::span<const chunk::HeapStart> starts,
                      std::span<chunk::ChunkPlace> places) noexcept {
    auto& b = *static_cast<BatchPlace*>(self);
    const std::size_t n = std::min(starts.size(), b.starts_.size());
    for (std::size_t i = 0; i < n; i++) {
        const chunk::HeapStart& s = starts[i];
        b.starts_[i] = {s.count, s.bytes, s.arrival, s.values, s.source, s.endpoint};
        b.places_[i] = HeapPlace{};
        b.places_[i].extra = places[i].extra;
    }
    b.function_(b.user_, {b.starts_.data(), n}, {b.places_.data(), n});
    for (std::size_t i = 0; i < n; i++) {
        const HeapPlace& p = b.places_[i];
        places[i].chunk = p.chunk;
        places[i].heap = p.heap;
        places[i].offset = p.offset;
        places[i].extra_at = p.extra_at;
        places[i].extra_size = p.extra_size;
    }
}

chunk::PlaceCallback place_sizes(const ChunkSizes& sizes) {
    chunk::PlaceCallback c;
    c.heaps = sizes.heaps;
    c.bytes = sizes.bytes;
    c.extra_bytes = sizes.extra_bytes;
    c.packet_bytes = sizes.packet_bytes;
    c.packets_per_heap = sizes.packets_per_heap;
    c.loose = sizes.by_chunk;
    return c;
}

std::function<chunk::PlaceCallback()> place_maker(const PlaceCallback& callback,
                                                  const std::shared_ptr<PlaceStats>& stats) {
    const int functions = (callback.place != nullptr ? 1 : 0) + (callback.place_one != nullptr ? 1 : 0) +
                          (callback.place_one_with_user != nullptr ? 1 : 0);
    if (functions != 1)
        throw_usage(chunk::PlaceCallback::kWhere,
                    "{} functions are set; set one of `place`, `place_one` and `place_one_with_user`",
                    functions);
    return [callback, stats] {
        chunk::PlaceCallback c = place_sizes(callback.chunk);
        c.items = callback.items;
        c.most_extra = callback.most_extra;
        if (callback.place != nullptr) {
            const auto batch = std::make_shared<BatchPlace>(callback.place, callback.user);
            c.function = BatchPlace::call;
            c.user = batch.get();
            c.owner = batch;
            return c;
        }
        const auto one = std::make_shared<OnePlace>(callback, stats);
        c.function = chunk::Spead2Place::call;
        c.user = &one->place;
        c.owner = one;
        return c;
    };
}

std::shared_ptr<PlaceStats> stats_for(const PlaceCallback& callback) {
    if (callback.stats.empty())
        return nullptr;
    if (callback.place != nullptr)
        throw_usage(chunk::PlaceCallback::kWhere,
                    "`stats` are counters of `place_one`, and `place` is set; let it count in its `user`");
    return std::make_shared<PlaceStats>(kinds_of(callback));
}

}  // namespace spead::door
