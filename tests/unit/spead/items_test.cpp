// SPDX-License-Identifier: BSD-3-Clause
#include "spead/items.hpp"

#include <bit>
#include <complex>
#include <cstring>
#include <gmock/gmock.h>
#include <random>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/unit/spead/user_heap.hpp"
#include "wire/descriptor.hpp"
#include "wire/value.hpp"

namespace spead {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

using Bytes = std::vector<std::uint8_t>;

wire::Descriptor described(std::uint64_t id, const std::string& name, std::vector<wire::FieldFormat> format,
                           std::vector<std::optional<std::uint64_t>> shape = {}) {
    wire::Descriptor d;
    d.id = id;
    d.name = name;
    d.description = "about " + name;
    d.format = std::move(format);
    d.shape = std::move(shape);
    return d;
}

wire::Descriptor numpy(std::uint64_t id, const std::string& name, const std::string& dtype,
                       const std::string& shape, bool fortran = false) {
    wire::Descriptor d;
    d.id = id;
    d.name = name;
    d.numpy_header = "{'descr': '" + dtype + "', 'fortran_order': " + (fortran ? "True" : "False") +
                     ", 'shape': " + shape + "}";
    return d;
}

/// Makes heaps as a sender does, one after the other.
class Sender {
  public:
    Sender& descriptor(const wire::Descriptor& d, unsigned address_bits = 40) {
        return value(5, wire::encode_descriptor(d, wire::Flavour(address_bits)).value());
    }
    Sender& value(std::uint64_t id, const Bytes& bytes) {
        words_.push_back(test::addressed(id, payload_.size()));
        payload_.insert(payload_.end(), bytes.begin(), bytes.end());
        return *this;
    }
    Sender& immediate(std::uint64_t id, std::uint64_t value) {
        words_.push_back(test::immediate(id, value));
        return *this;
    }
    /// Returns a heap of all that was added since the heap before.
    Heap heap() {
        if (payload_.empty())
            payload_.push_back(0);
        Heap heap = maker_.make(cnt_++, words_, payload_);
        words_.clear();
        payload_.clear();
        return heap;
    }
    test::HeapMaker& maker() { return maker_; }

  private:
    test::HeapMaker maker_;
    std::uint64_t cnt_ = 1;
    std::vector<std::uint64_t> words_;
    Bytes payload_;
};

template <class T>
Bytes raw(const std::vector<T>& values, bool swap) {
    Bytes out;
    for (const T value : values) {
        Bytes one(sizeof(T));
        std::memcpy(one.data(), &value, sizeof(T));
        if (swap)
            std::reverse(one.begin(), one.end());
        out.insert(out.end(), one.begin(), one.end());
    }
    return out;
}

TEST(ItemGroup, GivesTypedValuesOfDescribedItems) {
    Sender s;
    ItemGroup group;
    s.descriptor(described(0x1000, "time", {{'u', 40}})).immediate(0x1000, 1234);
    s.descriptor(described(0x1001, "gain", {{'f', 32}}, {{2}, {3}}))
        .value(0x1001, raw<float>({1, 2, 3, 4, 5, 6.5F}, true));
    s.descriptor(described(0x1002, "label", {{'c', 8}}, {{std::nullopt}})).value(0x1002, {'a', 'b', 'c'});
    EXPECT_THAT(group.update(s.heap()), ElementsAre(0x1001, 0x1002, 0x1000));
    EXPECT_THAT(group.ids(), ElementsAre(0x1000, 0x1001, 0x1002));

    const DescribedItem* const time = group.find("time");
    ASSERT_NE(time, nullptr);
    EXPECT_EQ(time, group.find(0x1000));
    EXPECT_EQ(time->description(), "about time");
    EXPECT_THAT(time->as<std::uint64_t>(), Optional(1234U));
    EXPECT_THAT(time->as<int>(), Optional(1234));
    EXPECT_THAT(time->as<double>(), Optional(1234.0));
    EXPECT_EQ(time->as<std::uint8_t>(), std::nullopt) << "1234 does not fit";
    EXPECT_EQ(time->as<bool>(), std::nullopt);
    EXPECT_THAT(time->bytes(), SizeIs(5));

    const DescribedItem* const gain = group.find("gain");
    ASSERT_NE(gain, nullptr);
    EXPECT_THAT(gain->shape(), ElementsAre(2, 3));
    EXPECT_THAT(gain->array<float>(), Optional(ElementsAre(1, 2, 3, 4, 5, 6.5F)));
    EXPECT_THAT(gain->array<double>(), Optional(ElementsAre(1, 2, 3, 4, 5, 6.5)));
    EXPECT_EQ(gain->array<int>(), std::nullopt);
    EXPECT_EQ(gain->as<float>(), std::nullopt) << "six elements are no scalar";
    EXPECT_THAT(gain->view<float>(), IsEmpty()) << "big-endian";
    EXPECT_THAT(group.find("label")->text(), Optional(std::string("abc")));
    EXPECT_EQ(group.find("time")->text(), std::nullopt);
    EXPECT_EQ(group.find("nothing"), nullptr);
    EXPECT_EQ(group.find(0x999), nullptr);
    EXPECT_EQ(group.ignored_values(), 0U);
    EXPECT_EQ(group.ignored_descriptors(), 0U);
}

TEST(ItemGroup, ShowsArraysWhereTheyLieIfTheMachineHasThemSo) {
    Sender s;
    ItemGroup group;
    std::vector<std::uint16_t> samples(4096);
    for (std::size_t i = 0; i < samples.size(); i++)
        samples[i] = static_cast<std::uint16_t>(i * 7);
    s.value(0x1000, raw(samples, false)).descriptor(numpy(0x1000, "adc", "<u2", "(4096,)"));
    Heap heap = s.heap();
    const void* const at = heap.payload().data();
    group.update(std::move(heap));
    const DescribedItem& adc = *group.find("adc");
    const std::span<const std::uint16_t> view = adc.view<std::uint16_t>();
    EXPECT_EQ(view.data(), at) << "no copy";
    EXPECT_THAT(view, testing::ElementsAreArray(samples));
    EXPECT_THAT(adc.array<std::uint16_t>(), Optional(testing::ElementsAreArray(samples)));
    EXPECT_THAT(adc.view<std::int16_t>(), IsEmpty());
    EXPECT_THAT(adc.view<std::uint8_t>(), IsEmpty());
    EXPECT_THAT(adc.view<float>(), IsEmpty());
    EXPECT_EQ(s.maker().out(), 1U) << "the value keeps the heap";
    s.value(0x1000, raw(samples, false));
    group.update(s.heap());
    EXPECT_EQ(s.maker().out(), 1U) << "the next value lets it go";
    EXPECT_EQ(adc.version(), 3U);
}

TEST(ItemGroup, ShowsNothingWhereItIsNotAligned) {
    Sender s;
    ItemGroup group;
    const Bytes bytes = raw<double>(std::vector<double>(512, 2.5), false);
    s.descriptor(numpy(0x1000, "x", "<f8", "(512,)"));
    group.update(s.heap());
    s.value(0x1FFF, {1}).value(0x1000, bytes);
    EXPECT_THAT(group.update(s.heap()), ElementsAre(0x1000));
    EXPECT_THAT(group.find("x")->view<double>(), IsEmpty());
    EXPECT_THAT(group.find("x")->array<double>(), Optional(std::vector<double>(512, 2.5)));
    EXPECT_EQ(group.ignored_values(), 1U) << "0x1fff is not described";
}

TEST(ItemGroup, DecodesOddWidthsAndSeveralFields) {
    Sender s;
    ItemGroup group;
    s.descriptor(described(0x1000, "adc", {{'u', 12}}, {{std::nullopt}})).value(0x1000, {0x12, 0x3a, 0xbc});
    s.descriptor(described(0x1001, "pairs", {{'i', 4}, {'u', 12}}, {{2}}))
        .value(0x1001, {0xf1, 0x23, 0x74, 0x56});
    s.descriptor(described(0x1002, "flags", {{'b', 1}}, {{8}})).value(0x1002, {0xa5});
    s.descriptor(numpy(0x1003, "z", ">c8", "(1,)")).value(0x1003, raw<float>({1.5F, -2}, true));
    group.update(s.heap());
    EXPECT_THAT(group.find("adc")->array<std::uint16_t>(), Optional(ElementsAre(0x123, 0xabc)));
    EXPECT_EQ(group.find("adc")->array<std::uint8_t>(), std::nullopt);
    EXPECT_THAT(group.find("adc")->shape(), ElementsAre(2));
    EXPECT_THAT(group.find("pairs")->fields(), SizeIs(2));
    EXPECT_THAT(group.find("pairs")->array<int>(0), Optional(ElementsAre(-1, 7)));
    EXPECT_THAT(group.find("pairs")->array<int>(1), Optional(ElementsAre(0x123, 0x456)));
    EXPECT_EQ(group.find("pairs")->array<int>(2), std::nullopt) << "there is no such field";
    EXPECT_EQ(group.find("pairs")->array<unsigned>(0), std::nullopt) << "-1 is no unsigned number";
    bool flags[8] = {};
    ASSERT_TRUE(group.find("flags")->read(0, std::span<bool>(flags)));
    EXPECT_THAT(flags, ElementsAre(true, false, true, false, false, true, false, true));
    EXPECT_THAT(group.find("z")->as<std::complex<double>>(), Optional(std::complex<double>(1.5, -2)));
    EXPECT_EQ(group.find("z")->as<double>(), std::nullopt);
}

TEST(ItemGroup, CountsElementsInRowMajorOrderWhateverTheSenderDoes) {
    Sender s;
    ItemGroup group;
    // [[1, 2, 3], [4, 5, 6]] column by column.
    s.descriptor(numpy(0x1000, "f", "<i4", "(2, 3)", true))
        .value(0x1000, raw<std::int32_t>({1, 4, 2, 5, 3, 6}, false));
    group.update(s.heap());
    EXPECT_THAT(group.find("f")->array<std::int32_t>(), Optional(ElementsAre(1, 2, 3, 4, 5, 6)));
    EXPECT_THAT(group.find("f")->view<std::int32_t>(), IsEmpty());
}

TEST(ItemGroup, CountsVersionsAsValuesAndDescriptorsCome) {
    Sender s;
    ItemGroup group;
    const wire::Descriptor first = described(0x1000, "x", {{'u', 16}});
    s.descriptor(first);
    EXPECT_THAT(group.update(s.heap()), IsEmpty());
    EXPECT_EQ(group.find("x")->version(), 1U);
    EXPECT_FALSE(group.find("x")->has_value());
    EXPECT_EQ(group.find("x")->as<int>(), std::nullopt);
    EXPECT_EQ(group.find("x")->array<int>(), std::nullopt);
    EXPECT_THAT(group.find("x")->view<std::uint16_t>(), IsEmpty());
    for (std::uint64_t i = 0; i < 3; i++) {
        s.descriptor(first).immediate(0x1000, i);
        EXPECT_THAT(group.update(s.heap()), ElementsAre(0x1000));
        EXPECT_EQ(group.find("x")->version(), 2 + i);
        EXPECT_THAT(group.find("x")->as<std::uint64_t>(), Optional(i));
    }
    // Another shape: a new item, without a value, and no version is seen twice.
    s.descriptor(described(0x1000, "x", {{'u', 16}}, {{2}}));
    group.update(s.heap());
    EXPECT_EQ(group.find("x")->version(), 5U);
    EXPECT_FALSE(group.find("x")->has_value());
    // The name goes to another id, with the greater of the versions.
    s.descriptor(described(0x1001, "y", {{'u', 16}}));
    group.update(s.heap());
    s.descriptor(described(0x1001, "x", {{'u', 16}}));
    group.update(s.heap());
    EXPECT_THAT(group.ids(), ElementsAre(0x1001));
    EXPECT_EQ(group.find("x")->id(), 0x1001U);
    EXPECT_EQ(group.find("y"), nullptr);
    EXPECT_EQ(group.find("x")->version(), 6U);
}

TEST(ItemGroup, LeavesOutWhatIsNotAsDescribed) {
    Sender s;
    ItemGroup group;
    s.descriptor(described(0x1000, "x", {{'u', 32}}, {{4}})).value(0x1000, Bytes(16, 7));
    group.update(s.heap());
    s.value(0x1000, Bytes(15, 9));  // too short
    EXPECT_THAT(group.update(s.heap()), IsEmpty());
    EXPECT_EQ(group.ignored_values(), 1U);
    EXPECT_THAT(group.find("x")->array<std::uint32_t>(), Optional(testing::Each(0x07070707U)))
        << "the value before stays";
    s.value(0x1000, Bytes(20, 9));  // padding behind
    EXPECT_THAT(group.update(s.heap()), ElementsAre(0x1000));
    EXPECT_THAT(group.find("x")->bytes(), SizeIs(16));
}

TEST(ItemGroup, TakesOnlyWhatCameOfAnIncompleteHeap) {
    Sender s;
    ItemGroup group;
    s.descriptor(described(0x1000, "a", {{'u', 8}}, {{std::nullopt}}));
    s.descriptor(described(0x1001, "b", {{'u', 8}}, {{std::nullopt}}));
    group.update(s.heap());
    const auto words = {test::addressed(0x1000, 0), test::addressed(0x1001, 50)};
    EXPECT_THAT(group.update(
                    s.maker().make({heap::test::Packet(900).of(100).at(0, 60).items(words).pointing_at(50)})),
                ElementsAre(0x1000));
    EXPECT_EQ(group.ignored_values(), 1U);
}

TEST(ItemGroup, TakesNoMoreItemsThanItMay) {
    Sender s;
    ItemGroup group(3);
    for (std::uint64_t id = 0x1000; id < 0x1010; id++)
        s.descriptor(described(id, std::to_string(id), {{'u', 8}}));
    group.update(s.heap());
    EXPECT_EQ(group.size(), 3U);
    EXPECT_EQ(group.ignored_descriptors(), 13U);
    // One that replaces another has room.
    s.descriptor(described(0x1001, "other", {{'u', 8}}));
    group.update(s.heap());
    EXPECT_NE(group.find("other"), nullptr);
    EXPECT_EQ(group.size(), 3U);
}

TEST(ItemGroup, SurvivesDescriptorsThatLie) {
    constexpr std::uint64_t kHuge = (std::uint64_t{1} << 40) - 1;
    Sender s;
    ItemGroup group;
    s.descriptor(described(0x1000, "huge", {{'u', 8}}, {{kHuge}, {kHuge}, {kHuge}}));
    s.descriptor(described(0x1001, "none", {{'u', 8}}, {{0}, {kHuge}, {kHuge}}));
    s.descriptor(described(0x1002, "bits", {{'u', 1}}, {{std::nullopt}}));
    s.descriptor(described(0x1003, "many", {{'u', 8}}, std::vector<std::optional<std::uint64_t>>(200, 1)));
    s.descriptor(described(0x1004, "odd", {{'x', 7}}));
    s.descriptor(described(0x1005, "wide", {{'u', 65}}));
    s.descriptor(numpy(0x1006, "np", "<u99999999999", "(4,)"));
    s.descriptor(numpy(0x1007, "np2", "|S0", "(4,)"));
    s.value(5, {1, 2, 3});
    group.update(s.heap());
    EXPECT_EQ(group.ignored_descriptors(), 6U);
    s.value(0x1000, Bytes(64, 1)).value(0x1001, Bytes(64, 1)).value(0x1002, Bytes(64, 0xff));
    EXPECT_THAT(group.update(s.heap()), ElementsAre(0x1001, 0x1002));
    EXPECT_THAT(group.find("none")->array<std::uint8_t>(), Optional(IsEmpty()));
    EXPECT_THAT(group.find("bits")->array<double>(), Optional(std::vector<double>(512, 1.0)));
}

/// Tests that, for any bytes, nothing reads beyond them and every accessor answers.
TEST(ItemGroup, SurvivesAnything) {
    std::mt19937_64 random(4);
    Sender s;
    ItemGroup group(16);
    const Bytes good =
        wire::encode_descriptor(described(0x1000, "x", {{'u', 12}}, {{std::nullopt}, {3}}), wire::Flavour(40))
            .value();
    const Bytes other =
        wire::encode_descriptor(numpy(0x1001, "y", "<f4", "(3, 2)", true), wire::Flavour(40)).value();
    std::uint64_t values = 0;
    for (int round = 0; round < 3000; round++) {
        for (Bytes bytes : {good, other}) {
            for (std::uint64_t n = random() % 4; n > 0; n--)
                bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
            s.value(5, bytes);
        }
        for (std::uint64_t id = 0x1000; id < 0x1002; id++) {
            Bytes bytes(1 + random() % 64);
            for (std::uint8_t& b : bytes)
                b = static_cast<std::uint8_t>(random());
            if (random() % 4 == 0)
                s.immediate(id, random());
            else
                s.value(id, bytes);
        }
        values += group.update(s.heap()).size();
        for (const std::uint64_t id : group.ids()) {
            const DescribedItem& item = *group.find(id);
            EXPECT_LE(item.elements(), item.bytes().size() * 8);
            if (const auto all = item.array<double>()) {
                EXPECT_EQ(all->size(), item.elements());
            }
            (void)item.array<std::int64_t>();
            (void)item.array<std::complex<float>>();
            (void)item.text();
            for (const float f : item.view<float>())
                EXPECT_TRUE(f < 0 || f >= 0 || f != f);
        }
    }
    EXPECT_GT(values, 1000U);
    EXPECT_LE(group.size(), 16U);
}

TEST(ItemGroup, KeepsValuesWhenItMovesAndWhenTheStreamIsGone) {
    auto s = std::make_unique<Sender>();
    ItemGroup group;
    const std::vector<std::uint32_t> samples(1000, 5);
    s->value(0x1000, raw(samples, false)).descriptor(numpy(0x1000, "adc", "<u4", "(1000,)"));
    s->descriptor(described(0x1001, "t", {{'u', 40}})).immediate(0x1001, 8);
    group.update(s->heap());
    s.reset();
    ItemGroup moved = std::move(group);
    EXPECT_THAT(moved.find("adc")->view<std::uint32_t>(), testing::ElementsAreArray(samples));
    EXPECT_THAT(moved.find("t")->as<int>(), Optional(8));
    // NOLINTBEGIN(bugprone-use-after-move)
    EXPECT_EQ(group.find("t"), nullptr);
    EXPECT_EQ(group.find(0x1001), nullptr);
    EXPECT_THAT(group.ids(), IsEmpty());
    EXPECT_EQ(group.size() + group.ignored_values() + group.ignored_descriptors(), 0U);
    EXPECT_THROW(group.update(Sender().heap()), UsageError);
    // NOLINTEND(bugprone-use-after-move)
}

/// Returns the most memory that the process has had at once, in MiB.
long peak_memory() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

TEST(ItemGroup, TakesNoMemoryForWhatCannotBe) {
    Sender s;
    ItemGroup group;
    constexpr std::uint64_t kBits = std::uint64_t{7} << 20;
    s.descriptor(described(0x1000, "flags", {{'b', 1}}, {{kBits}})).value(0x1000, Bytes(kBits / 8, 0xFF));
    s.descriptor(described(0x1001, "text", {{'c', 8}}, {{3}})).value(0x1001, {'a', 'b', 'c'});
    group.update(s.heap());
    const DescribedItem* const flags = group.find("flags");
    ASSERT_NE(flags, nullptr);
    ASSERT_EQ(flags->elements(), kBits);
    const long before = peak_memory();
    EXPECT_EQ(flags->array<std::complex<double>>(), std::nullopt);
    EXPECT_EQ(flags->array<double>(), std::nullopt);
    EXPECT_EQ(flags->array<char>(), std::nullopt);
    EXPECT_EQ(flags->array<std::uint64_t>(1), std::nullopt) << "there is no such field";
    EXPECT_LT(peak_memory(), before + 28) << "complex numbers take 112 MiB";
    const auto values = flags->array<std::uint8_t>();
    ASSERT_TRUE(values);
    EXPECT_EQ((*values)[kBits - 1], 1U);
    EXPECT_THAT(group.find("text")->array<std::uint8_t>(), Optional(ElementsAre('a', 'b', 'c')));
    EXPECT_THAT(group.find("text")->array<char>(), Optional(ElementsAre('a', 'b', 'c')));
    EXPECT_EQ(group.find("text")->array<std::int8_t>(), std::nullopt);
}

}  // namespace
}  // namespace spead
