// SPDX-License-Identifier: BSD-3-Clause
#include "recv/classifier.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/recv/datagram.hpp"

namespace spead::recv::test {
namespace {

constexpr std::uint32_t kGroup = 0xEF010203;
constexpr std::uint16_t kPort = 7148;
constexpr std::uint32_t kSender = 0x0A000007;

Endpoint endpoint(std::uint32_t address, std::uint16_t port = kPort, std::uint32_t source = 0) {
    return {{address}, port, {source}};
}

/// Returns "lane/endpoint", or "nobody".
std::string found(const Classifier& c, std::uint32_t address, std::uint16_t port, std::uint32_t source) {
    const Target* const t = c.find(address, port, source);
    return t == nullptr ? "nobody" : std::to_string(t->lane) + "/" + std::to_string(t->endpoint);
}

TEST(Classifier, KnowsNobodyAtFirst) {
    const Classifier c;
    EXPECT_EQ(c.size(), 0U);
    EXPECT_EQ(found(c, kGroup, kPort, kSender), "nobody");
    EXPECT_EQ(found(c, 0, 0, 0), "nobody");
}

TEST(Classifier, FindsAnEndpointByAddressAndPortWhateverTheSource) {
    Classifier c;
    EXPECT_TRUE(c.add(endpoint(kGroup), {3, 5}));
    EXPECT_EQ(found(c, kGroup, kPort, kSender), "3/5");
    EXPECT_EQ(found(c, kGroup, kPort, 0), "3/5");
    EXPECT_EQ(found(c, kGroup, kPort + 1, kSender), "nobody");
    EXPECT_EQ(found(c, kGroup + 1, kPort, kSender), "nobody");
    EXPECT_EQ(found(c, kGroup, 0, kSender), "nobody");
    EXPECT_FALSE(c.find(kGroup, kPort, kSender)->by_source);
}

TEST(Classifier, FindsEveryAddressOfARangeAndNoneBesideIt) {
    const std::vector<Endpoint> range = parse_endpoints("239.10.255.250+15:7148");
    Classifier c(range.size());
    for (std::size_t i = 0; i < range.size(); i++)
        EXPECT_TRUE(c.add(range[i], {1, static_cast<std::uint16_t>(i)}));
    EXPECT_EQ(c.size(), 16U);
    for (std::uint32_t i = 0; i < 16; i++)
        EXPECT_EQ(found(c, 0xEF0AFFFA + i, kPort, kSender), "1/" + std::to_string(i));
    EXPECT_EQ(found(c, 0xEF0AFFF9, kPort, kSender), "nobody");
    EXPECT_EQ(found(c, 0xEF0B000A, kPort, kSender), "nobody");
}

TEST(Classifier, TakesOnlyPacketsOfTheSourceThatAnEndpointNames) {
    Classifier c;
    EXPECT_TRUE(c.add(endpoint(kGroup, kPort, kSender), {1, 0}));
    EXPECT_EQ(found(c, kGroup, kPort, kSender), "1/0");
    EXPECT_EQ(found(c, kGroup, kPort, kSender + 1), "nobody");
    EXPECT_EQ(found(c, kGroup, kPort, 0), "nobody");
    EXPECT_TRUE(c.find(kGroup, kPort, kSender)->by_source);
}

TEST(Classifier, PrefersTheEndpointThatNamesTheSourceInWhateverOrderTheyCame) {
    std::vector<std::pair<Endpoint, Target>> all{{endpoint(kGroup), {0, 0}},
                                                 {endpoint(kGroup, kPort, kSender), {1, 0}},
                                                 {endpoint(kGroup, kPort, kSender + 1), {2, 0}}};
    std::vector<std::size_t> order{0, 1, 2};
    do {
        Classifier c;
        for (const std::size_t i : order)
            EXPECT_TRUE(c.add(all[i].first, all[i].second));
        EXPECT_EQ(found(c, kGroup, kPort, kSender), "1/0");
        EXPECT_EQ(found(c, kGroup, kPort, kSender + 1), "2/0");
        EXPECT_EQ(found(c, kGroup, kPort, kSender + 2), "0/0");
        // Each answer depends on the source: another source might have another target.
        for (const std::uint32_t source : {kSender, kSender + 1, kSender + 2})
            EXPECT_TRUE(c.find(kGroup, kPort, source)->by_source);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Classifier, RefusesTheSameEndpointTwiceAndKeepsTheFirst) {
    Classifier c;
    EXPECT_TRUE(c.add(endpoint(kGroup), {0, 0}));
    EXPECT_FALSE(c.add(endpoint(kGroup), {1, 1}));
    EXPECT_TRUE(c.add(endpoint(kGroup, kPort, kSender), {2, 2}));
    EXPECT_FALSE(c.add(endpoint(kGroup, kPort, kSender), {3, 3}));
    EXPECT_EQ(c.size(), 2U);
    EXPECT_EQ(found(c, kGroup, kPort, 1), "0/0");
    EXPECT_EQ(found(c, kGroup, kPort, kSender), "2/2");
}

TEST(Classifier, DecidesItselfWhetherTheAnswerDependsOnTheSource) {
    Classifier c;
    c.add(endpoint(kGroup), {0, 0, true});
    EXPECT_FALSE(c.find(kGroup, kPort, kSender)->by_source);
    c.add(endpoint(kGroup, kPort, kSender), {1, 0, false});
    EXPECT_TRUE(c.find(kGroup, kPort, kSender)->by_source);
}

TEST(Classifier, TellsPortsOfOneAddressApart) {
    Classifier c;
    for (std::uint16_t port = 1; port < 200; port++)
        EXPECT_TRUE(c.add(endpoint(kGroup, port), {port, 0}));
    for (std::uint16_t port = 1; port < 200; port++)
        EXPECT_EQ(found(c, kGroup, port, kSender), std::to_string(port) + "/0");
    EXPECT_EQ(found(c, kGroup, 200, kSender), "nobody");
}

/// Tests many sources of one address and port, which stand in one row of entries.
TEST(Classifier, TellsManySourcesOfOneEndpointApart) {
    Classifier c;
    for (std::uint16_t i = 1; i <= 300; i++)
        EXPECT_TRUE(c.add(endpoint(kGroup, kPort, i), {i, 0}));
    EXPECT_TRUE(c.add(endpoint(kGroup), {0, 0}));
    for (std::uint16_t i = 1; i <= 300; i++)
        EXPECT_EQ(found(c, kGroup, kPort, i), std::to_string(i) + "/0");
    EXPECT_EQ(found(c, kGroup, kPort, 301), "0/0");
}

/// Compares a classifier with the obvious map, through growth. Few addresses, ports and sources bring every
/// kind of neighbourhood.
TEST(Classifier, AgreesWithAMapOfManyEndpoints) {
    for (std::uint32_t seed = 1; seed <= 20; seed++) {
        Random random(seed);
        const std::uint32_t addresses = 1 + random() % 400;
        const std::uint32_t ports = 1 + random() % 5;
        const std::uint32_t sources = 1 + random() % 4;
        const auto any_endpoint = [&] {
            return endpoint(kGroup + random() % addresses,
                            static_cast<std::uint16_t>(kPort + random() % ports),
                            random() % sources == 0 ? 0 : kSender + random() % sources);
        };
        std::map<std::tuple<std::uint32_t, std::uint16_t, std::uint32_t>, Target> model;
        Classifier c(random() % 3 == 0 ? 0 : random() % 100);
        for (std::uint16_t i = 0; i < 500; i++) {
            const Endpoint e = any_endpoint();
            const Target t{i, static_cast<std::uint16_t>(seed)};
            const bool is_new = model.insert({{e.address.v4().value, e.port, e.source.v4().value}, t}).second;
            ASSERT_EQ(c.add(e, t), is_new);
            ASSERT_EQ(c.size(), model.size());
        }
        for (std::uint32_t a = 0; a < addresses + 2; a++)
            for (std::uint32_t p = 0; p < ports + 1; p++)
                for (std::uint32_t s = 0; s < sources + 1; s++) {
                    const std::uint32_t address = kGroup + a;
                    const auto port = static_cast<std::uint16_t>(kPort + p);
                    auto want = model.find({address, port, kSender + s});
                    if (want == model.end())
                        want = model.find({address, port, 0});
                    const Target* const got = c.find(address, port, kSender + s);
                    ASSERT_EQ(got != nullptr, want != model.end());
                    if (got == nullptr)
                        continue;
                    ASSERT_EQ(got->lane, want->second.lane);
                    ASSERT_EQ(got->endpoint, want->second.endpoint);
                    const bool named = std::any_of(model.begin(), model.end(), [&](const auto& entry) {
                        const auto& [entry_address, entry_port, entry_source] = entry.first;
                        return entry_address == address && entry_port == port && entry_source != 0;
                    });
                    ASSERT_EQ(got->by_source, named);
                }
    }
}

}  // namespace
}  // namespace spead::recv::test
