// SPDX-License-Identifier: BSD-3-Clause
// Compares the placer with plain arithmetic: that of receivers of today's telescopes, and of every placement.

#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "chunk/placer.hpp"
#include "tests/unit/chunk/made_packet.hpp"

namespace spead::chunk {
namespace {

constexpr int kTuples = 1'000'000;

/// Holds the result of a place function.
struct Expected {
    PacketOutcome outcome = PacketOutcome::placed;
    std::uint64_t chunk = 0;
    std::uint64_t heap = 0;
    std::uint64_t offset = 0;
};

/// Makes packets with up to four immediates, some of them hostile. An item that is missing, or has an
/// address, is -1, as place functions of spead2 get it.
class Tuples {
  public:
    static constexpr std::size_t kItems = 4;
    using Items = std::array<std::int64_t, kItems>;

    Tuples(std::uint64_t seed, std::uint64_t heap_length) : random_(seed), length_(heap_length) {}

    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    /// Returns a value of 48 bits: often a multiple of `step` below `count` of them, or next to one.
    std::uint64_t value(std::uint64_t step, std::uint64_t count) {
        constexpr std::uint64_t kMost = (std::uint64_t{1} << 48) - 1;
        switch (below(8)) {
            case 0:
                return random_() & kMost;
            case 1:
                return (kMost - below(3)) >> below(48);
            case 2:
                return (step * below(count + 3) + below(3) - 1) & kMost;
            case 3:
                return kMost / step * step - step * below(2);
            default:
                return step * below(count + (below(8) == 0 ? 2 : 0));
        }
    }

    /// Makes a packet of the values: the item 0x1600 + i has values[i].
    Items make(std::array<std::uint64_t, kItems> values, std::size_t count) {
        constexpr wire::Flavour flavour(48);
        Items items;
        items.fill(-1);
        std::uint32_t words = 0;
        const std::size_t first = below(16) == 0 ? below(count) : 0;
        for (std::size_t k = 0; k < count; k++) {
            const std::size_t i = (first + k) % count;
            const std::uint64_t kind = below(256);
            if (kind == 0)
                continue;
            store_be(&bytes_[words++ * 8], kind == 1 ? flavour.make_address(0x1600 + i, values[i])
                                                     : flavour.make_immediate(0x1600 + i, values[i]));
            if (kind != 1)
                items[i] = static_cast<std::int64_t>(values[i]);
        }
        store_be(&bytes_[words++ * 8], flavour.make_address(0x3300, 0));
        view_ = {};
        view_.flavour = 48;
        view_.items = bytes_.data();
        view_.item_count = words;
        view_.heap_length = below(64) == 0 ? length_ + below(3) - 1 : length_;
        return items;
    }

    const heap::PacketView& view() const { return view_; }
    std::uint64_t heap_length() const { return view_.heap_length; }

  private:
    std::mt19937_64 random_;
    std::uint64_t length_;
    std::array<std::uint8_t, (kItems + 1) * 8> bytes_{};
    heap::PacketView view_;
};

/// Counts how often each outcome was compared, so that a test cannot agree about one of them only.
using Seen = std::map<PacketOutcome, int>;

void compare(Placer& placer, const Tuples& tuples, const Expected& expected, Seen& seen) {
    Place place;
    const PacketOutcome outcome = placer.place(tuples.view(), 0, place);
    ASSERT_EQ(outcome, expected.outcome);
    seen[outcome]++;
    if (outcome != PacketOutcome::placed)
        return;
    const Placer::Time time = placer.split(place.time);
    ASSERT_EQ(time.id, static_cast<std::int64_t>(expected.chunk));
    ASSERT_EQ(place.heap + time.heap, expected.heap);
    ASSERT_EQ(place.offset + time.offset, expected.offset);
}

/// Computes a digitiser's place: the polarisation is the lowest bit of an id.
struct DigitiserModel {
    std::int64_t heap_samples, sample_bits, chunk_samples, pol_stride;
    bool mask_timestamp;

    std::int64_t heap_bytes() const { return heap_samples * sample_bits / 8; }

    Expected place(const Tuples::Items& items, std::uint64_t length) const {
        Expected e;
        std::int64_t timestamp = items[0];
        if (timestamp < 0 || items[1] < 0)
            e.outcome = PacketOutcome::no_item;
        else if (length != static_cast<std::uint64_t>(heap_bytes()))
            e.outcome = PacketOutcome::bad_length;
        if (e.outcome != PacketOutcome::placed)
            return e;
        if (mask_timestamp)
            timestamp -= timestamp % heap_samples;
        if (timestamp % heap_samples != 0) {
            e.outcome = PacketOutcome::bad_step;
            return e;
        }
        const std::int64_t heaps = chunk_samples / heap_samples;
        const std::int64_t pol = items[1] % 2;
        const std::int64_t index = timestamp / heap_samples % heaps;
        e.chunk = static_cast<std::uint64_t>(timestamp / chunk_samples);
        e.heap = static_cast<std::uint64_t>(pol * heaps + index);
        e.offset = static_cast<std::uint64_t>(pol * pol_stride + index * heap_bytes());
        return e;
    }
};

TEST(PlacerModel, AgreesAboutDigitisers) {
    const struct {
        DigitiserModel model;
        const char* text;
    } cases[] = {
        {{4096, 10, 1 << 25, 8192 * 5120, false},
         "heap 5120; axis pol: item 0x1601 & 1 [2]; time: item 0x1600 / 4096 [8192]"},
        {{4096, 10, 1 << 25, 50'000'000, true},
         "heap 5120; axis pol: item 0x1601 & 1 [2] by 50000000; time: item 0x1600 & 0xfffffffff000 / 4096 "
         "[8192]"},
        {{4096, 12, 4096 * 1000, 1000 * 6144, true},
         "heap 6144; axis pol: item 0x1601 & 1 [2]; time: item 0x1600 // 4096 [1000]"},
    };
    for (const auto& c : cases) {
        Placer placer(Placement::parse(c.text));
        Tuples tuples(1, static_cast<std::uint64_t>(c.model.heap_bytes()));
        Seen seen;
        for (int i = 0; i < kTuples; i++) {
            const auto items = tuples.make({tuples.value(4096, 1ULL << 36), tuples.value(1, 64), 0, 0}, 2);
            compare(placer, tuples, c.model.place(items, tuples.heap_length()), seen);
            if (testing::Test::HasFatalFailure())
                FAIL() << c.text << ", tuple " << i;
        }
        EXPECT_GT(seen[PacketOutcome::placed], kTuples / 4);
        EXPECT_GT(seen[PacketOutcome::no_item], 1000);
        EXPECT_GT(seen[PacketOutcome::bad_length], 1000);
        EXPECT_EQ(seen[PacketOutcome::bad_step] > 1000, !c.model.mask_timestamp);
    }
}

/// Computes the place of an antenna's channelised heap: time, then antenna.
struct ChannelisedModel {
    std::int64_t antennas, step, batches, heap_bytes;

    Expected place(const Tuples::Items& items, std::uint64_t length) const {
        Expected e;
        if (items[0] < 0 || items[1] < 0)
            e.outcome = PacketOutcome::no_item;
        else if (length != static_cast<std::uint64_t>(heap_bytes))
            e.outcome = PacketOutcome::bad_length;
        else if (items[0] % step != 0)
            e.outcome = PacketOutcome::bad_step;
        else if (items[1] >= antennas)
            e.outcome = PacketOutcome::out_of_range;
        const std::int64_t absolute = items[0] / step;
        e.chunk = static_cast<std::uint64_t>(absolute / batches);
        e.heap = static_cast<std::uint64_t>(absolute % batches * antennas + items[1]);
        e.offset = e.heap * static_cast<std::uint64_t>(heap_bytes);
        return e;
    }
};

TEST(PlacerModel, AgreesAboutChannelisedVoltages) {
    const struct {
        ChannelisedModel model;
        const char* text;
    } cases[] = {
        {{80, 1 << 21, 13, 65536},
         "heap 65536; time: item 0x1600 / 2097152 [13]; axis ant: item 0x1601 [80]"},
        {{680, 3 << 21, 7, 4096}, "heap 4096; time: item 0x1600 / 6291456 [7]; axis ant: item 0x1601 [680]"},
        {{4, 1, 1, 64}, "heap 64; time: item 0x1600 [1]; axis ant: item 0x1601 [4]"},
    };
    for (const auto& c : cases) {
        Placer placer(Placement::parse(c.text));
        Tuples tuples(2, static_cast<std::uint64_t>(c.model.heap_bytes));
        Seen seen;
        const auto step = static_cast<std::uint64_t>(c.model.step);
        for (int i = 0; i < kTuples; i++) {
            const auto items =
                tuples.make({tuples.value(step, (1ULL << 48) / step),
                             tuples.value(1, static_cast<std::uint64_t>(c.model.antennas)), 0, 0},
                            2);
            compare(placer, tuples, c.model.place(items, tuples.heap_length()), seen);
            if (testing::Test::HasFatalFailure())
                FAIL() << c.text << ", tuple " << i;
        }
        EXPECT_GT(seen[PacketOutcome::placed], kTuples / 4);
        EXPECT_GT(seen[PacketOutcome::out_of_range], 1000);
        EXPECT_EQ(seen[PacketOutcome::bad_step] > 1000, c.model.step > 1);
    }
}

/// Computes the place of a heap of channels whose receiver drops remainders: a chunk is one time.
struct BaselineModel {
    std::int64_t step, channels_per_heap, ranges, heap_bytes;

    Expected place(const Tuples::Items& items, std::uint64_t length) const {
        Expected e;
        if (items[0] < 0 || items[1] < 0)
            e.outcome = PacketOutcome::no_item;
        else if (length != static_cast<std::uint64_t>(heap_bytes))
            e.outcome = PacketOutcome::bad_length;
        else if (items[1] / channels_per_heap >= ranges)
            e.outcome = PacketOutcome::out_of_range;
        e.chunk = static_cast<std::uint64_t>(items[0] / step);
        e.heap = static_cast<std::uint64_t>(items[1] / channels_per_heap);
        e.offset = e.heap * static_cast<std::uint64_t>(heap_bytes);
        return e;
    }
};

TEST(PlacerModel, AgreesAboutBaselineCorrelations) {
    const struct {
        BaselineModel model;
        const char* text;
    } cases[] = {
        {{855638016, 512, 64, 4096},
         "heap 4096; time: item 0x1600 // 855638016 [1]; axis chan: item 0x1601 // 512 [64]"},
        {{5000, 3, 100, 72}, "heap 72; time: item 0x1600 // 5000 [1]; axis chan: item 0x1601 // 3 [100]"},
    };
    for (const auto& c : cases) {
        Placer placer(Placement::parse(c.text));
        Tuples tuples(5, static_cast<std::uint64_t>(c.model.heap_bytes));
        Seen seen;
        const auto step = static_cast<std::uint64_t>(c.model.step);
        const auto width = static_cast<std::uint64_t>(c.model.channels_per_heap);
        for (int i = 0; i < kTuples; i++) {
            const auto items =
                tuples.make({tuples.value(step, (1ULL << 48) / step),
                             tuples.value(width, static_cast<std::uint64_t>(c.model.ranges)), 0, 0},
                            2);
            compare(placer, tuples, c.model.place(items, tuples.heap_length()), seen);
            if (testing::Test::HasFatalFailure())
                FAIL() << c.text << ", tuple " << i;
        }
        EXPECT_GT(seen[PacketOutcome::placed], kTuples / 4);
        EXPECT_GT(seen[PacketOutcome::out_of_range], 1000);
        EXPECT_EQ(seen[PacketOutcome::bad_step], 0) << "remainders are dropped";
    }
}

/// Computes the place of a beam's heap: polarisation (of the stream), time, channels. A third item must be
/// there, and is not used.
struct BeamModel {
    std::int64_t pol, channels, channels_per_heap, step, batches, heap_bytes;

    Expected place(const Tuples::Items& items, std::uint64_t length) const {
        Expected e;
        if (items[0] < 0 || items[1] < 0 || items[2] < 0)
            e.outcome = PacketOutcome::no_item;
        else if (length != static_cast<std::uint64_t>(heap_bytes))
            e.outcome = PacketOutcome::bad_length;
        else if (items[0] % step != 0 || items[1] % channels_per_heap != 0)
            e.outcome = PacketOutcome::bad_step;
        else if (items[1] >= channels)
            e.outcome = PacketOutcome::out_of_range;
        const std::int64_t heaps = channels / channels_per_heap;
        const std::int64_t absolute = items[0] / step;
        e.chunk = static_cast<std::uint64_t>(absolute / batches);
        e.heap = static_cast<std::uint64_t>(pol * batches * heaps + absolute % batches * heaps +
                                            items[1] / channels_per_heap);
        e.offset = e.heap * static_cast<std::uint64_t>(heap_bytes);
        return e;
    }
};

TEST(PlacerModel, AgreesAboutBeams) {
    const struct {
        BeamModel model;
        const char* text;
    } cases[] = {
        {{0, 1024, 64, 1 << 21, 8, 8192},
         "heap 8192; axis pol: constant 0 [2]; time: item 0x1600 / 2097152 [8]; axis chan: item 0x1601 / 64 "
         "[16]; "
         "extra u32: item 0x1602"},
        {{1, 8160, 96, 5000, 3, 100},
         "heap 100; axis pol: constant 1 [2]; time: item 0x1600 / 5000 [3]; axis chan: item 0x1601 / 96 "
         "[85]; extra "
         "u32: item 0x1602"},
    };
    for (const auto& c : cases) {
        Placer placer(Placement::parse(c.text));
        Tuples tuples(3, static_cast<std::uint64_t>(c.model.heap_bytes));
        Seen seen;
        const auto step = static_cast<std::uint64_t>(c.model.step);
        const auto width = static_cast<std::uint64_t>(c.model.channels_per_heap);
        for (int i = 0; i < kTuples; i++) {
            const auto items =
                tuples.make({tuples.value(step, (1ULL << 48) / step),
                             tuples.value(width, static_cast<std::uint64_t>(c.model.channels) / width),
                             tuples.value(1, 80), 0},
                            3);
            compare(placer, tuples, c.model.place(items, tuples.heap_length()), seen);
            if (testing::Test::HasFatalFailure())
                FAIL() << c.text << ", tuple " << i;
        }
        EXPECT_GT(seen[PacketOutcome::placed], kTuples / 8);
        EXPECT_GT(seen[PacketOutcome::bad_step], 1000);
        EXPECT_GT(seen[PacketOutcome::out_of_range], 1000);
    }
}

/// Computes a place by index rules: a time with a mask, a first value and a step whose remainder counts for
/// nothing; then items with masks whose values are looked up in lists.
struct IndexModel {
    std::uint64_t time_mask;
    std::int64_t first, step, groups;
    std::array<std::uint64_t, 3> masks;
    std::array<std::vector<std::uint64_t>, 3> lists;
    std::int64_t heap_bytes;

    Expected place(const Tuples::Items& items, std::uint64_t length) const {
        Expected e;
        for (const std::int64_t item : items)
            if (item < 0)
                e.outcome = PacketOutcome::no_item;
        if (e.outcome == PacketOutcome::placed && length != static_cast<std::uint64_t>(heap_bytes))
            e.outcome = PacketOutcome::bad_length;
        const auto time = static_cast<std::int64_t>(static_cast<std::uint64_t>(items[0]) & time_mask) - first;
        if (e.outcome == PacketOutcome::placed && time < 0)
            e.outcome = PacketOutcome::out_of_range;
        std::uint64_t heaps = 1;
        for (std::size_t i = 0; i < 3 && e.outcome == PacketOutcome::placed; i++) {
            const auto& list = lists[i];
            const auto at =
                std::find(list.begin(), list.end(), static_cast<std::uint64_t>(items[i + 1]) & masks[i]);
            if (at == list.end())
                e.outcome = PacketOutcome::bad_step;
            e.heap = e.heap * list.size() + static_cast<std::uint64_t>(at - list.begin());
            heaps *= list.size();
        }
        const std::int64_t group = time / step;
        e.chunk = static_cast<std::uint64_t>(group / groups);
        e.heap += static_cast<std::uint64_t>(group % groups) * heaps;
        e.offset = e.heap * static_cast<std::uint64_t>(heap_bytes);
        return e;
    }
};

TEST(PlacerModel, AgreesAboutIndexRules) {
    std::mt19937_64 random(4);
    for (int variant = 0; variant < 10; variant++) {
        IndexModel model;
        model.time_mask = variant % 2 == 0 ? ~0ULL : 0xFFFFFFFFFFULL;
        model.first = static_cast<std::int64_t>(random() % 100'000'000);
        model.step = variant % 3 == 0 ? 4096 : static_cast<std::int64_t>(1 + random() % 3'000'000);
        model.groups = static_cast<std::int64_t>(1 + random() % 300);
        model.heap_bytes = 4096;
        std::string text = "heap 4096; wrap 64; time: item 0x1600";
        if (~model.time_mask != 0)
            text += " & " + std::to_string(model.time_mask);
        text += " - " + std::to_string(model.first) + " // " + std::to_string(model.step) + " [" +
                std::to_string(model.groups) + "]";
        for (std::size_t i = 0; i < 3; i++) {
            model.masks[i] = variant % 2 == 0 ? ~0ULL : 0xFFF;
            text += "; axis a" + std::to_string(i) + ": item " + std::to_string(0x1601 + i) + " & " +
                    std::to_string(model.masks[i]) + " {";
            const std::size_t count = 1 + random() % (i == 0 ? 64 : 8);
            for (std::size_t k = 0; k < count; k++)
                model.lists[i].push_back(k * 37 % 64 * 64);
            for (const std::uint64_t value : model.lists[i])
                text += std::to_string(value) + (value == model.lists[i].back() ? "}" : ", ");
        }
        // A mask of fewer bits would wrap: its values have 40 bits then, and numbers from `first` on.
        Placer placer(Placement::parse(text));
        const bool wraps = placer.wrap() != 0 || ~model.time_mask != 0;
        Tuples tuples(5 + static_cast<std::uint64_t>(variant), 4096);
        Seen seen;
        for (int i = 0; i < kTuples / 10; i++) {
            std::array<std::uint64_t, 4> values{};
            values[0] = tuples.value(static_cast<std::uint64_t>(model.step), 1ULL << 20) +
                        static_cast<std::uint64_t>(model.first);
            values[0] &= (1ULL << 48) - 1;
            if (wraps && (values[0] & model.time_mask) < static_cast<std::uint64_t>(model.first))
                continue;
            for (std::size_t k = 0; k < 3; k++)
                values[k + 1] = tuples.below(8) == 0 ? tuples.value(64, 64)
                                                     : model.lists[k][tuples.below(model.lists[k].size())] +
                                                           (~model.masks[k] == 0 ? 0 : tuples.below(9) << 12);
            const auto items = tuples.make(values, 4);
            compare(placer, tuples, model.place(items, tuples.heap_length()), seen);
            if (testing::Test::HasFatalFailure())
                FAIL() << text << ", tuple " << i;
        }
        EXPECT_GT(seen[PacketOutcome::placed], kTuples / 40);
        EXPECT_GT(seen[PacketOutcome::bad_step], 100);
    }
}

}  // namespace
}  // namespace spead::chunk
