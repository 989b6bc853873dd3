// SPDX-License-Identifier: BSD-3-Clause
#include "recv/fragment_table.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace spead::recv {
namespace {

using Answer = FragmentTable::Decision::Answer;
using Why = FragmentTable::Why;

constexpr std::uint64_t kPatience = 1000;
constexpr std::uint64_t kFrame = 1514;

/// Returns a fragment; the last one of its datagram if no more follow.
wire::FragmentView fragment(std::uint32_t begin, std::uint32_t end, bool more, std::uint32_t id = 1,
                            std::uint32_t source = 0x0A000001) {
    wire::FragmentView f{};
    f.source = source;
    f.destination = 0xEF010203U;
    f.id = id;
    f.begin = begin;
    f.end = end;
    f.more = more;
    return f;
}

/// Makes a table, and checks that the account of its places is the one of its decisions.
class Fragments : public testing::Test {
  protected:
    FragmentTable::Decision offer(const wire::FragmentView& f, std::uint64_t now = 1) {
        const FragmentTable::Decision d = table.offer(f, kFrame, now);
        note(d);
        if (d.answer != Answer::refuse)
            held[d.place]++;
        if (d.answer == Answer::whole) {
            EXPECT_EQ(held[d.place], d.whole.fragments);
            EXPECT_EQ(d.whole.bytes, kFrame * d.whole.fragments);
            held.erase(d.place);
        }
        EXPECT_EQ(held.size(), table.open());
        return d;
    }
    FragmentTable::Decision refuse(const wire::FragmentView& f, std::uint64_t now = 1) {
        const FragmentTable::Decision d = table.refuse(f, now);
        EXPECT_EQ(d.answer, Answer::refuse);
        note(d);
        return d;
    }
    void note(const FragmentTable::Decision& d) {
        if (d.given_up.fragments == 0)
            return;
        EXPECT_EQ(held[d.place], d.given_up.fragments);
        EXPECT_EQ(d.given_up.bytes, kFrame * d.given_up.fragments);
        held.erase(d.place);
    }
    std::uint32_t expire(std::uint64_t now) {
        std::uint32_t n = 0;
        table.expire(now, [&](std::uint32_t place, const FragmentTable::Held& was) {
            EXPECT_EQ(held[place], was.fragments);
            held.erase(place);
            n += was.fragments;
        });
        EXPECT_EQ(held.size(), table.open());
        return n;
    }
    Answer answer(const wire::FragmentView& f) { return offer(f).answer; }

    FragmentTable table{64, kPatience, 12345};
    std::map<std::uint32_t, std::uint32_t> held;  ///< fragments by place
};

TEST_F(Fragments, MakeADatagramInAnyOrder) {
    std::vector<wire::FragmentView> all;
    for (std::uint32_t i = 0; i < 5; i++)
        all.push_back(fragment(i * 1480, i == 4 ? 6000 : (i + 1) * 1480, i != 4));
    std::vector<std::size_t> order{0, 1, 2, 3, 4};
    std::uint32_t id = 0;
    do {
        id++;
        for (std::size_t i = 0; i < 5; i++) {
            wire::FragmentView f = all[order[i]];
            f.id = id;
            ASSERT_EQ(answer(f), i == 4 ? Answer::whole : Answer::hold) << i;
        }
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(table.open(), 0U);
}

TEST_F(Fragments, DuplicatesAreRefusedAndHarmNothing) {
    EXPECT_EQ(answer(fragment(0, 800, true)), Answer::hold);
    EXPECT_EQ(answer(fragment(0, 800, true)), Answer::refuse);
    EXPECT_EQ(answer(fragment(1600, 2000, false)), Answer::hold);
    EXPECT_EQ(answer(fragment(1600, 2000, false)), Answer::refuse);
    EXPECT_EQ(answer(fragment(800, 1600, true)), Answer::whole);
    for (const auto& f : {fragment(0, 800, true), fragment(800, 1600, true), fragment(1600, 2000, false)})
        EXPECT_EQ(answer(f), Answer::refuse) << "late ones begin no datagram";
    EXPECT_EQ(table.open(), 0U);
    EXPECT_EQ(offer(fragment(0, 800, true), 2 + kPatience).answer, Answer::hold)
        << "the number is used again";
}

TEST_F(Fragments, AnOverlapCostsTheWholeDatagram) {
    std::uint32_t id = 0;
    for (const wire::FragmentView& wrong :
         {fragment(792, 1600, true), fragment(0, 808, true), fragment(8, 16, true), fragment(0, 8, true),
          fragment(2392, 3200, true), fragment(1600, 2400, false), fragment(1600, 2408, true),
          fragment(0, 4000, false)}) {
        id++;
        offer(fragment(0, 800, true, id));
        offer(fragment(1600, 2400, true, id));
        wire::FragmentView f = wrong;
        f.id = id;
        const FragmentTable::Decision d = offer(f);
        EXPECT_EQ(d.answer, Answer::refuse) << id;
        EXPECT_EQ(d.given_up.fragments, 2U) << id;
        EXPECT_EQ(d.why, Why::conflicting) << id;
        EXPECT_EQ(answer(fragment(800, 1600, true, id)), Answer::refuse) << "the rest, too (RFC 5722)";
    }
}

TEST_F(Fragments, WhatContradictsTheEndCostsTheWholeDatagram) {
    offer(fragment(800, 1600, false));
    EXPECT_EQ(offer(fragment(1600, 2400, true)).why, Why::conflicting) << "behind the end";
    offer(fragment(800, 1600, false, 2));
    EXPECT_EQ(offer(fragment(1600, 2400, false, 2)).given_up.fragments, 1U) << "two ends";
    offer(fragment(1600, 2400, true, 3));
    EXPECT_EQ(offer(fragment(800, 1600, false, 3)).given_up.fragments, 1U) << "an end before others";
    EXPECT_EQ(table.open(), 0U);
}

TEST_F(Fragments, EightMakeADatagramAndNineAreTooMany) {
    for (std::uint32_t i = 0; i < 8; i++)
        EXPECT_EQ(answer(fragment(i * 8, i * 8 + 8, i != 7)), i == 7 ? Answer::whole : Answer::hold);
    for (std::uint32_t i = 1; i < 7; i++)
        EXPECT_EQ(answer(fragment(i * 8, i * 8 + 8, true, 2)), Answer::hold);
    const FragmentTable::Decision d = offer(fragment(56, 64, true, 2));
    EXPECT_EQ(d.answer, Answer::refuse) << "it has no place beside the first and the last";
    EXPECT_EQ(d.why, Why::too_many);
    EXPECT_EQ(d.given_up.fragments, 6U);
    EXPECT_EQ(answer(fragment(0, 8, true, 2)), Answer::refuse);
}

TEST_F(Fragments, PatienceEnds) {
    offer(fragment(0, 800, true), 10);
    EXPECT_EQ(expire(10 + kPatience), 0U);
    EXPECT_EQ(expire(11 + kPatience), 1U);
    offer(fragment(0, 800, true), 10);
    const FragmentTable::Decision d = offer(fragment(0, 800, true), 11 + kPatience);
    EXPECT_EQ(d.answer, Answer::hold) << "of another datagram with the same number";
    EXPECT_EQ(d.given_up.fragments, 1U);
    EXPECT_EQ(d.why, Why::late);
    offer(fragment(0, 800, true, 2), 11 + kPatience);
    EXPECT_EQ(expire(FragmentTable::kAtLast), 2U);
}

TEST_F(Fragments, OfNoStreamAreRefusedInAnyOrder) {
    refuse(fragment(0, 800, true));
    EXPECT_EQ(answer(fragment(800, 1600, false)), Answer::refuse);
    offer(fragment(800, 1600, false, 2));
    const FragmentTable::Decision d = refuse(fragment(0, 800, true, 2));
    EXPECT_EQ(d.given_up.fragments, 1U);
    EXPECT_EQ(d.why, Why::unwanted);
    EXPECT_EQ(table.open(), 0U);
}

/// Floods the table with first fragments while another sender's datagrams come.
TEST_F(Fragments, ASenderThatFloodsCrowdsOutItsOwn) {
    std::uint32_t id = 0;
    std::uint32_t given_up = 0;
    for (std::uint32_t victim = 1; victim <= 200; victim++) {
        const auto flood = [&] {
            for (int i = 0; i < 100; i++) {
                const FragmentTable::Decision d = offer(fragment(0, 8, true, id++, 0xBAD));
                EXPECT_EQ(d.answer, Answer::hold);
                given_up += d.given_up.fragments;
                EXPECT_EQ(d.why, Why::late) << "it lacks fragments, and not places";
            }
        };
        const std::uint32_t from = 0x0A000000 + victim;
        flood();
        ASSERT_EQ(answer(fragment(0, 800, true, 7, from)), Answer::hold);
        flood();
        ASSERT_EQ(answer(fragment(800, 1600, true, 7, from)), Answer::hold);
        flood();
        ASSERT_EQ(answer(fragment(1600, 2400, false, 7, from)), Answer::whole) << victim;
    }
    EXPECT_GT(given_up, 59'000U);
    EXPECT_LE(table.open(), 16U) << "of the sender that floods";
}

TEST_F(Fragments, AFloodFromForgedSourcesIsBounded) {
    for (std::uint32_t i = 0; i < 10'000; i++)
        EXPECT_EQ(answer(fragment(0, 8, true, 1, 0xC0000000 + i)), Answer::hold);
    EXPECT_EQ(table.open(), 64U);
    EXPECT_EQ(offer(fragment(0, 8, true, 1, 1)).why, Why::crowded_out);
    EXPECT_EQ(expire(FragmentTable::kAtLast), 64U);
}

/// Compares with what is plainly so: a datagram is whole when its last missing piece comes, unless something
/// contradictory came before.
TEST_F(Fragments, RandomOnesAreWholeExactlyWhenTheirPiecesAreThere) {
    std::independent_bits_engine<std::mt19937, 32, std::uint32_t> random(7);
    std::uint32_t whole = 0;
    for (std::uint32_t id = 0; id < 20'000; id++) {
        const std::uint32_t n = 2 + random() % 7;
        const std::uint32_t unit = 8 * (1 + random() % 100);
        std::vector<wire::FragmentView> pieces;
        for (std::uint32_t i = 0; i < n; i++)
            pieces.push_back(
                fragment(i * unit, (i + 1) * unit - (i + 1 == n ? random() % 8 : 0), i + 1 != n, id));
        std::vector<wire::FragmentView> sent = pieces;
        for (std::uint32_t twice = random() % 3; twice != 0; twice--)
            sent.push_back(pieces[random() % n]);
        const bool loses = random() % 4 == 0;
        std::shuffle(sent.begin(), sent.end(), random);
        if (loses) {
            const std::uint32_t lost = pieces[random() % n].begin;
            std::erase_if(sent, [lost](const auto& f) { return f.begin == lost; });
        }
        std::vector<bool> came(n);
        bool done = false;
        for (const wire::FragmentView& f : sent) {
            const bool again = came[f.begin / unit];
            came[f.begin / unit] = true;
            const bool all = std::find(came.begin(), came.end(), false) == came.end();
            const Answer expected = again || done ? Answer::refuse : all ? Answer::whole : Answer::hold;
            done |= all;
            ASSERT_EQ(offer(f, id).answer, expected) << "datagram " << id;
        }
        ASSERT_EQ(done, !loses);
        whole += done;
    }
    EXPECT_GT(whole, 14'000U);
}

}  // namespace
}  // namespace spead::recv
