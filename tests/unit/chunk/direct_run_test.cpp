// SPDX-License-Identifier: BSD-3-Clause
#include "chunk/direct_run.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "chunk/placer.hpp"
#include "tests/unit/chunk/made_packet.hpp"
#include "tests/unit/chunk/random_placement.hpp"
#include "tests/unit/chunk/ring_rig.hpp"

/// Compares a run with the placer, whose answers it must give or leave.
namespace spead::chunk::test {
namespace {

constexpr unsigned kBits = 24;

/// Makes placements that a run may serve more often than not.
Placement simple_placement(RandomPlacement& random) {
    Placement p = random.make(4, kBits);
    const auto simplify = [&](Term& t) {
        if (random.below(8) == 0)
            return;
        if (t.kind != Term::Kind::constant)
            t.kind = Term::Kind::item;
        t.id = t.id == 0 ? 0x2000 + random.below(3) : t.id;
        t.list.clear();
        t.step = t.kind == Term::Kind::constant ? 1 : std::uint64_t{1} << random.below(4);
        t.first = t.kind == Term::Kind::constant ? t.first : t.first / t.step * t.step;
    };
    for (Axis& axis : p.axes)
        simplify(axis.term);
    for (Extra& extra : p.extras)
        simplify(extra.term);
    p.way = Way::direct;
    if (p.rows.bytes != 0) {
        p.rows = {};
        for (Axis& axis : p.axes)
            axis.stride = 0;
    }
    return p;
}

/// Gives packets of random values to a run and to a placer.
class RunModel {
  public:
    RunModel(const Placement& placement, RandomPlacement& random)
        : p_(placement),
          random_(random),
          layout_(p_.check()),
          chunks_(1, layout_),
          chunk_(*chunks_.ring.open()),
          placer_(p_),
          run_(p_),
          part_bytes_(p_.packet_bytes != 0 ? p_.packet_bytes : static_cast<std::uint32_t>(p_.heap_bytes)),
          parts_(static_cast<std::uint32_t>((p_.heap_bytes + part_bytes_ - 1) / part_bytes_)) {}

    /// Returns how many packets the run placed.
    unsigned check(unsigned packets) {
        unsigned placed = 0;
        std::int64_t id = -1;
        for (unsigned i = 0; i < packets; i++) {
            MadePacket made = packet();
            const heap::PacketView& view = made.view();
            Place place;
            const bool fits = placer_.place(view, 0, place) == PacketOutcome::placed;
            const Placer::Time time = fits ? placer_.split(place.time) : Placer::Time{-2, 0, 0};
            const std::uint64_t heap = place.heap + time.heap;
            const std::uint64_t part = view.offset / part_bytes_;
            if (id < 0) {
                if (!fits)
                    continue;
                id = time.id;
                run_.begin(view, {&chunk_, chunk_.shares.data(), 7, time.heap, part_bytes_, parts_});
                continue;
            }
            const bool is_new = fits && time.id == id && chunk_.parts[heap * parts_ + part] == 0;
            std::uint64_t offset = 0;
            const bool went_on = run_.goes_on(7) && run_.next(view, offset) != nullptr;
            if (!went_on) {
                EXPECT_FALSE(run_.goes_on(7) && is_new && view.item_count == items_) << p_.text();
                continue;
            }
            placed++;
            EXPECT_TRUE(is_new) << p_.text();
            EXPECT_EQ(offset, place.offset + time.offset + view.offset) << p_.text();
            EXPECT_EQ(chunk_.parts[heap * parts_ + part], 1) << p_.text();
            if (part == 0)
                expect_extras(view, heap);
        }
        EXPECT_EQ(chunk_.shares[0].packets, placed);
        EXPECT_EQ(chunk_.shares[0].parts, placed);
        return placed;
    }

  private:
    static constexpr std::uint32_t items_ = 10;

    void expect_extras(const heap::PacketView& view, std::uint64_t heap) {
        if (layout_.extra_bytes == 0)
            return;
        std::array<std::byte, 64> extras{};
        placer_.write_extras(view, 0, extras.data());
        EXPECT_EQ(
            std::memcmp(extras.data(), chunk_.extra.data() + heap * layout_.extra_bytes, layout_.extra_bytes),
            0)
            << p_.text();
    }

    /// Returns a value of a term, mostly one of the first places.
    std::uint64_t value_of(const Term& t, std::uint64_t count) {
        std::uint64_t value = t.first + random_.below(count + 1) * t.step;
        if (random_.below(40) == 0)
            value += random_.below(5) - 2;
        value <<= t.shift;
        if (random_.below(100) == 0)
            value = random_.below(std::uint64_t{1} << kBits);
        return value;
    }

    MadePacket packet() {
        MadePacket made(p_.heap_bytes, 48);
        std::vector<std::uint64_t> ids;
        const auto add = [&](const Term& t, std::uint64_t count) {
            if (t.kind != Term::Kind::item || std::find(ids.begin(), ids.end(), t.id) != ids.end())
                return;
            ids.push_back(t.id);
            if (random_.below(200) == 0)
                made.address(t.id, value_of(t, count));
            else
                made.immediate(t.id, value_of(t, count));
        };
        for (const Axis& axis : p_.axes)
            add(axis.term, axis.is_time ? axis.count * std::uint64_t{2} : axis.count);
        for (const Extra& extra : p_.extras)
            add(extra.term, 9);
        while (made.view().item_count < items_)
            made.immediate(0x7000, random_.below(1000));
        heap::PacketView& view = made.view();
        view.arrival = 5;
        view.offset = random_.below(parts_) * part_bytes_;
        view.payload_length =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(part_bytes_, p_.heap_bytes - view.offset));
        return made;
    }

    const Placement& p_;
    RandomPlacement& random_;
    Layout layout_;
    RingOfChunks chunks_;
    Chunk& chunk_;
    Placer placer_;
    DirectRun run_;
    std::uint32_t part_bytes_;
    std::uint32_t parts_;
};

TEST(DirectRun, PlacesAsThePlacerDoes) {
    RandomPlacement random(1);
    unsigned serves = 0;
    unsigned placed = 0;
    for (int i = 0; i < 3000; i++) {
        Placement p = simple_placement(random);
        try {
            p.check();
        } catch (const std::exception&) {
            continue;
        }
        serves += DirectRun(p).serves();
        placed += RunModel(p, random).check(60);
        if (::testing::Test::HasFailure())
            return;
    }
    EXPECT_GT(serves, 500U);
    EXPECT_GT(placed, 2000U);
}

/// Holds a run for heaps of 1000 bytes in packets of 300, at its first packet.
struct StartedRun {
    explicit StartedRun(const std::string& text = "heap 1000; time: item 0x1600 / 4 [4]; presence packet 300")
        : placement(Placement::parse(text)),
          chunks(1, placement.check()),
          chunk(*chunks.ring.open()),
          run(placement),
          made(1000) {
        made.immediate(0x1600, 4);
        made.view().payload_length = 300;
        made.view().arrival = 9;
        run.begin(made.view(), {&chunk, chunk.shares.data(), 1, 1, 300, 4});
    }
    bool next() { return run.next(made.view(), offset) != nullptr; }

    Placement placement;
    RingOfChunks chunks;
    Chunk& chunk;
    DirectRun run;
    MadePacket made;
    std::uint64_t offset = 0;
};

TEST(DirectRun, GoesOnOnlyWithTheSlotsThatItBeganWith) {
    StartedRun s;
    EXPECT_TRUE(s.run.goes_on(1));
    EXPECT_FALSE(s.run.goes_on(2));
    s.run.end();
    EXPECT_FALSE(s.run.goes_on(1));
    EXPECT_FALSE(s.run.goes_on(0)) << "that is no number of slots";
}

TEST(DirectRun, LeavesWhatIsNotNext) {
    StartedRun s;
    heap::PacketView& view = s.made.view();
    const heap::PacketView right = view;
    const auto refuses = [&](auto change) {
        view = right;
        change(view);
        return !s.next();
    };
    EXPECT_TRUE(refuses([](auto& v) { v.heap_length = 999; }));
    EXPECT_TRUE(refuses([](auto& v) { v.heap_length = heap::kUnknownLength; }));
    EXPECT_TRUE(refuses([](auto& v) { v.flavour = 40; }));
    EXPECT_TRUE(refuses([](auto& v) { v.item_count = 0; }));
    EXPECT_TRUE(refuses([](auto& v) { v.flags = heap::PacketView::kControl; }));
    EXPECT_TRUE(refuses([](auto& v) { v.payload_length = 299; }));
    EXPECT_TRUE(refuses([](auto& v) { v.payload_length = 0; }));
    EXPECT_TRUE(refuses([](auto& v) { v.offset = 1; }));
    EXPECT_TRUE(refuses([](auto& v) { v.offset = 900; })) << "the last one has 100 bytes";
    EXPECT_TRUE(refuses([](auto& v) { v.offset = 1200; }));
    EXPECT_TRUE(refuses([](auto& v) { v.offset = std::numeric_limits<std::uint64_t>::max() - 299; }));
    EXPECT_EQ(s.chunk.shares[0].packets, 0U);
    EXPECT_FALSE(refuses([](auto& v) {
        v.offset = 900;
        v.payload_length = 100;
    }));
    EXPECT_EQ(s.offset, 1000U + 900);
    EXPECT_TRUE(refuses([](auto& v) {
        v.offset = 900;
        v.payload_length = 100;
    })) << "it is there";
    EXPECT_EQ(s.chunk.shares[0].bytes, 100U);
    EXPECT_EQ(s.chunk.shares[0].last, 9U);
}

TEST(DirectRun, ServesNoPlacementThatNeedsMore) {
    const auto serves = [](const std::string& text) { return DirectRun(Placement::parse(text)).serves(); };
    EXPECT_TRUE(serves("heap 8; time: item 0x1600 // 4 [4]; axis a: constant 1 [2]"));
    EXPECT_FALSE(serves("heap 8; time: item 0x1600 / 3 [4]"));
    EXPECT_FALSE(serves("heap 8; time: heap [4]"));
    EXPECT_FALSE(serves("heap 8; time: item 0x1600 [4]; axis a: endpoint [2]"));
    EXPECT_FALSE(serves("heap 8; time: item 0x1600 [4]; axis a: item 0x4101 {1, 7}"));
    EXPECT_FALSE(serves("heap 8; time: item 0x1600 [4]; extra u16: heap"));
    EXPECT_FALSE(serves("heap 8; time: item 0x1600 [4] by 4; rows 4 by 16"));
    EXPECT_FALSE(serves("heap 8; time: item 0x1600 [4]; tracked"));
}

}  // namespace
}  // namespace spead::chunk::test
