// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/rate_search.hpp"

#include <cmath>
#include <functional>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace spead::app {
namespace {

using Trial = std::function<bool(double rate)>;

RateSearch searched(const RateSearch::Options& options, const Trial& trial) {
    RateSearch search(options);
    while (const auto rate = search.next()) {
        search.report(trial(*rate));
        if (search.trials() > 100'000) {
            ADD_FAILURE() << "the search does not end";
            break;
        }
    }
    return search;
}

constexpr RateSearch::Options kRange{1e6, 1e10, 0.02, 2, 3};

/// Simulates trials of a link that carries up to `capacity`. A trial is wrong with probability `error`.
class NoisyLink {
  public:
    NoisyLink(double capacity, double error, std::uint32_t seed)
        : capacity_(capacity), error_(error), random_(seed) {}
    bool operator()(double rate) { return (rate <= capacity_) != error_(random_); }

  private:
    double capacity_;
    std::bernoulli_distribution error_;
    std::mt19937 random_;
};

/// Returns whether the true capacity is between the search's two ends.
bool right(const RateSearch& s, double capacity) {
    return s.sustained().value_or(0) <= capacity && capacity < s.refused().value_or(INFINITY);
}

TEST(RateSearch, FindsTheRateOfAQuietLinkWithinTheResolution) {
    for (const double capacity : {1.0e6, 1.3e6, 5.55e7, 9.99e8, 3.3e9, 9.9e9}) {
        const RateSearch s = searched(kRange, [=](double rate) { return rate <= capacity; });
        ASSERT_TRUE(s.sustained() && s.refused()) << capacity;
        EXPECT_TRUE(right(s, capacity)) << capacity;
        EXPECT_LE(*s.refused() / *s.sustained(), 1.02 * (1 + 1e-9)) << capacity;
    }
}

TEST(RateSearch, SaysWhenTheRangeIsTooLowOrTooHigh) {
    const RateSearch all = searched(kRange, [](double) { return true; });
    EXPECT_EQ(all.sustained(), 1e10);
    EXPECT_FALSE(all.refused());
    const RateSearch none = searched(kRange, [](double) { return false; });
    EXPECT_FALSE(none.sustained());
    EXPECT_EQ(none.refused(), 1e6);
}

TEST(RateSearch, ARangeOfOneRate) {
    RateSearch::Options one = kRange;
    one.lowest = one.highest = 5e6;
    const RateSearch s = searched(one, [](double rate) { return rate == 5e6; });
    EXPECT_EQ(s.sustained(), 5e6);
    EXPECT_FALSE(s.refused());
    EXPECT_EQ(s.trials(), 4U) << "two votes of two trials";
}

TEST(RateSearch, AsksOnlyWithinTheRangeAndEachRateAtMostThreeVotes) {
    std::map<double, unsigned> asked;
    NoisyLink link(1e8, 0.5, 7);  // pure noise
    searched(kRange, [&](double rate) {
        EXPECT_GE(rate, kRange.lowest);
        EXPECT_LE(rate, kRange.highest);
        EXPECT_LE(++asked[rate], 3 * kRange.of);
        return link(rate);
    });
}

TEST(RateSearch, AVoteEndsAsSoonAsItIsDecided) {
    // On a quiet link every vote takes `agree` trials for, or as many against as make `agree` impossible.
    std::set<double> rates;
    const RateSearch s = searched(kRange, [&](double rate) { return rates.insert(rate), rate <= 1e8; });
    EXPECT_EQ(s.trials(), 2 * (rates.size() + 2)) << "the two at the end are voted on twice";
    EXPECT_LE(rates.size(), 10U) << "bisection of 466 steps";
}

TEST(RateSearch, OneWrongVoteIsMadeGood) {
    // The first look at every rate is wrong where it matters most: the middle of the range.
    for (const double capacity : {3e8, 3e7}) {
        double first = 0;
        unsigned looks = 0;
        const RateSearch s = searched({1e6, 1e10, 0.02, 1, 1}, [&](double rate) {
            if (first == 0)
                first = rate;
            if (rate == first && looks++ == 0)
                return rate > capacity;
            return rate <= capacity;
        });
        EXPECT_TRUE(right(s, capacity)) << capacity;
        EXPECT_EQ(looks, 3U) << "contradicted, and decided by a third vote";
    }
}

struct Noise {
    double error;
    unsigned agree;
    unsigned of;
};
class Noisy : public testing::TestWithParam<Noise> {};

TEST_P(Noisy, IsRightAsOftenAsPromised) {
    constexpr int kRuns = 4000;
    const Noise noise = GetParam();
    RateSearch::Options options = kRange;
    options.agree = noise.agree;
    options.of = noise.of;
    std::mt19937 random(42);
    std::uniform_real_distribution<double> exponent(6.1, 9.9);
    int wrong = 0;
    double promised_wrong = 0;
    for (int run = 0; run < kRuns; run++) {
        const double capacity = std::pow(10, exponent(random));
        const RateSearch s =
            searched(options, NoisyLink(capacity, noise.error, static_cast<std::uint32_t>(random())));
        wrong += right(s, capacity) ? 0 : 1;
        promised_wrong += 1 - s.confidence(noise.error);
    }
    // Three standard deviations of a count about its expected value.
    EXPECT_LE(wrong, promised_wrong + 3 * std::sqrt(promised_wrong) + 1);
}

INSTANTIATE_TEST_SUITE_P(RateSearch, Noisy,
                         testing::Values(Noise{0.01, 1, 1}, Noise{0.02, 2, 3}, Noise{0.1, 2, 3},
                                         Noise{0.1, 3, 5}, Noise{0.05, 3, 3}, Noise{0.2, 5, 9}));

TEST(RateSearch, VotesAreWhatMakesItRight) {
    // The noise of the tests above is enough to mislead a plain bisection, one trial and no second look.
    const auto plain = [](double capacity, NoisyLink link) {
        double good = kRange.lowest;
        double bad = kRange.highest;
        while (bad / good > 1.02) {
            const double rate = std::sqrt(good * bad);
            (link(rate) ? good : bad) = rate;
        }
        return good <= capacity && capacity < bad;
    };
    int plain_wrong = 0;
    int wrong = 0;
    for (std::uint32_t seed = 0; seed < 1000; seed++) {
        const double capacity = 2.5e8;
        plain_wrong += plain(capacity, NoisyLink(capacity, 0.1, seed)) ? 0 : 1;
        wrong += right(searched(kRange, NoisyLink(capacity, 0.1, seed)), capacity) ? 0 : 1;
    }
    EXPECT_GT(plain_wrong, 400);
    EXPECT_LT(wrong, 25);
}

TEST(RateSearch, AnEdgeThatIsNoStepIsFoundWhereHalfTheTrialsPass) {
    // Loss that sets in slowly: 10 % wide. The answer must lie where the odds turn.
    std::mt19937 random(3);
    int outside = 0;
    for (int run = 0; run < 500; run++) {
        const RateSearch s = searched(kRange, [&](double rate) {
            const double odds = 1 / (1 + std::exp((rate / 1e9 - 1) / 0.03));
            return std::bernoulli_distribution(odds)(random);
        });
        outside += s.sustained().value_or(0) < 0.9e9 || s.sustained().value_or(0) > 1.1e9 ? 1 : 0;
    }
    EXPECT_LE(outside, 10);
}

TEST(RateSearch, ConfidenceGrowsWithTheVotesAndFallsWithTheError) {
    const RateSearch s = searched(kRange, [](double rate) { return rate <= 1e8; });
    EXPECT_EQ(s.confidence(0), 1);
    EXPECT_GT(s.confidence(0.02), 0.9999);
    EXPECT_GT(s.confidence(0.02), s.confidence(0.1));
    EXPECT_EQ(s.confidence(0.5), 0) << "coins tell nothing";
}

}  // namespace
}  // namespace spead::app
