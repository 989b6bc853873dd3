// SPDX-License-Identifier: BSD-3-Clause
// Marks the bytes of each heap, for random placements: each heap has its own, and none lies outside.

#include <vector>

#include <gtest/gtest.h>

#include "chunk/placer.hpp"
#include "tests/unit/chunk/made_packet.hpp"
#include "tests/unit/chunk/random_placement.hpp"

namespace spead::chunk {
namespace {

/// Returns a raw value for which the term gives `number`, with anything in the bits that do not count.
std::uint64_t raw_for(const Term& term, std::uint64_t number, unsigned width, RandomPlacement& random) {
    std::uint64_t value = 0;
    if (!term.list.empty())
        value = term.list[number];
    else
        value = term.first + number * term.step + (term.truncate ? random.below(term.step) : 0);
    const std::uint64_t used = term.mask << term.shift;
    const std::uint64_t any = random.below(1ULL << 63) & ~used & (~0ULL >> (64 - width));
    return (value << term.shift) | any;
}

/// Makes the terms of a placement independent of each other.
void make_independent(Placement& p) {
    bool heap = false;
    bool endpoint = false;
    for (std::size_t i = 0; i < p.axes.size(); i++) {
        Term& term = p.axes[i].term;
        bool& taken = term.kind == Term::Kind::heap ? heap : endpoint;
        if (term.kind != Term::Kind::heap && term.kind != Term::Kind::endpoint)
            continue;
        if (taken) {
            term.kind = Term::Kind::item;
            term.id = 0x1000 + i;
        }
        taken = true;
    }
}

/// Goes through all heaps of a chunk, and marks the bytes of each.
class Marks {
  public:
    Marks(const Placement& placement, RandomPlacement& random)
        : p_(placement),
          random_(random),
          placer_(placement),
          bytes_(placer_.layout().bytes),
          heaps_(placer_.layout().heaps) {}

    void run() {
        std::vector<std::uint64_t> numbers(p_.axes.size());
        for (std::uint64_t heap = 0; heap < heaps_.size(); heap++) {
            std::uint64_t rest = heap;
            bool possible = true;
            for (std::size_t i = numbers.size(); i-- > 0;) {
                numbers[i] = rest % p_.axes[i].count;
                rest /= p_.axes[i].count;
                const Term& term = p_.axes[i].term;
                possible = possible && (term.kind != Term::Kind::constant || term.first == numbers[i]);
            }
            if (possible)
                place(numbers, heap);
            if (testing::Test::HasFatalFailure())
                return;
        }
    }

  private:
    void place(const std::vector<std::uint64_t>& numbers, std::uint64_t heap) {
        MadePacket packet(p_.heap_bytes, 40);
        std::uint64_t endpoint = random_.below(65536);
        std::vector<bool> given(16);
        std::uint64_t chunk = 0;
        for (std::size_t i = 0; i < numbers.size(); i++) {
            const Axis& axis = p_.axes[i];
            std::uint64_t number = numbers[i];
            if (axis.is_time) {
                chunk = random_.below(1000);
                number += chunk * axis.count;
            }
            if (axis.term.kind == Term::Kind::item) {
                packet.immediate(axis.term.id, raw_for(axis.term, number, 40, random_));
                given[axis.term.id - 0x1000] = true;
            } else if (axis.term.kind == Term::Kind::heap) {
                packet.view().key = raw_for(axis.term, number, 40, random_);
            } else if (axis.term.kind == Term::Kind::endpoint) {
                endpoint = raw_for(axis.term, number, 16, random_);
            }
        }
        for (std::uint64_t id = 0; id < 8; id++)
            if (!given[id])
                packet.immediate(0x1000 + id, random_.below(1ULL << 40));
        Place place;
        ASSERT_EQ(placer_.place(packet.view(), static_cast<std::uint16_t>(endpoint), place),
                  PacketOutcome::placed)
            << p_.text();
        const Placer::Time time = placer_.split(place.time);
        ASSERT_EQ(time.id, static_cast<std::int64_t>(chunk)) << p_.text();
        ASSERT_EQ(place.heap + time.heap, heap) << p_.text();
        ASSERT_FALSE(heaps_[heap]);
        heaps_[heap] = true;
        const std::uint64_t rows = p_.rows.bytes == 0 ? 1 : p_.heap_bytes / p_.rows.bytes;
        for (std::uint64_t row = 0; row < rows; row++)
            for (std::uint64_t i = 0; i < p_.heap_bytes / rows; i++) {
                const std::uint64_t at = place.offset + time.offset + row * p_.rows.stride + i;
                ASSERT_LT(at, bytes_.size()) << p_.text();
                ASSERT_FALSE(bytes_[at]) << p_.text() << ", byte " << at << " of heap " << heap;
                bytes_[at] = true;
            }
    }

    const Placement& p_;
    RandomPlacement& random_;
    Placer placer_;
    std::vector<bool> bytes_;
    std::vector<bool> heaps_;
};

TEST(PlacerBytes, GivesEachHeapBytesOfItsOwn) {
    RandomPlacement random(6);
    for (int i = 0; i < 400; i++) {
        Placement p = random.make(6, 40);
        make_independent(p);
        Marks(p, random).run();
        if (testing::Test::HasFatalFailure())
            FAIL() << "placement " << i;
    }
}

TEST(PlacerBytes, PlacesNothingOutside) {
    RandomPlacement random(7);
    int placed = 0;
    for (int i = 0; i < 2000; i++) {
        const Placement p = random.make(20, 40);
        Placer placer(p);
        const Layout& layout = placer.layout();
        const std::uint64_t extent = p.rows.bytes == 0
                                         ? p.heap_bytes
                                         : (p.heap_bytes / p.rows.bytes - 1) * p.rows.stride + p.rows.bytes;
        for (int k = 0; k < 200; k++) {
            MadePacket packet(p.heap_bytes, 56);
            for (std::uint64_t id = 0; id < 8; id++)
                packet.immediate(0x40 + id, 0)
                    .immediate(0x1000 + id, random.below(1ULL << (1 + random.below(60))));
            packet.view().key = random.below(1ULL << (1 + random.below(60)));
            // Ids of 7 bits only: most packets lack their items. Those of 40 bits have them.
            if (random.below(8) != 0) {
                packet.view().flavour = 40;
                packet.clear();
                for (std::uint64_t id = 0; id < 8; id++)
                    packet.word(wire::Flavour(40).make_immediate(
                        0x1000 + id, random.below(1ULL << (1 + random.below(40)))));
            }
            Place place;
            const auto endpoint = static_cast<std::uint16_t>(random.below(1ULL << random.below(17)));
            if (placer.place(packet.view(), endpoint, place) != PacketOutcome::placed)
                continue;
            placed++;
            for (const std::uint64_t n : {place.time, std::uint64_t{0}, (std::uint64_t{1} << 63) - 1}) {
                const Placer::Time time = placer.split(n);
                ASSERT_LT(place.heap + time.heap, layout.heaps) << p.text();
                ASSERT_LE(place.offset + time.offset + extent, layout.bytes) << p.text();
            }
        }
    }
    EXPECT_GT(placed, 20'000);
}

}  // namespace
}  // namespace spead::chunk
