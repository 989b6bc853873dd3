// SPDX-License-Identifier: BSD-3-Clause
#include "port/port_rules.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace spead::port::test {
namespace {

/// Writes its calls down.
class WrittenTable final : public RuleTable {
  public:
    WrittenTable(std::vector<std::string>& calls, const std::string& trouble)
        : calls_(calls), trouble_(trouble) {}
    ~WrittenTable() override { calls_.emplace_back("gone"); }

    void add(const Rule& rule) override { calls_.push_back("add " + to_string(rule.endpoint)); }
    void add_host_rules(std::uint16_t queue, bool ipv6) override {
        calls_.push_back("host " + std::to_string(queue) + (ipv6 ? " 6" : ""));
    }
    void use_ipv6() override { calls_.emplace_back("6"); }
    void remove(const Endpoint& endpoint) override { calls_.push_back("remove " + to_string(endpoint)); }
    void clear() noexcept override {}
    std::vector<RuleState> rules() const override { return std::vector<RuleState>(2); }
    std::vector<PassedPackets> passed() const override { return std::vector<PassedPackets>(3); }
    std::string out_of_force() const override { return trouble_; }

  private:
    std::vector<std::string>& calls_;
    const std::string& trouble_;
};

class PortRulesTest : public testing::Test {
  protected:
    void use() { rules.use(std::make_unique<WrittenTable>(calls, trouble)); }

    const Endpoint endpoint{Ipv4{0xEF010203}, 7148, {}};
    std::vector<std::string> calls;
    std::string trouble;
    PortRules rules;
};

TEST_F(PortRulesTest, ChangesDoNothingWithoutATable) {
    rules.use(nullptr);
    rules.add({endpoint, {0}, {}});
    rules.add_host_rules(0, false);
    rules.use_ipv6();
    rules.remove(endpoint);
    EXPECT_TRUE(rules.rules().empty());
    EXPECT_TRUE(rules.passed().empty());
    EXPECT_EQ(rules.first_out_of_force(), "");
    rules.drop();
}

TEST_F(PortRulesTest, AreThoseOfTheTableUntilItIsDropped) {
    use();
    rules.add({endpoint, {0}, {}});
    rules.add_host_rules(1, true);
    rules.use_ipv6();
    rules.remove(endpoint);
    EXPECT_EQ(rules.rules().size(), 2U);
    EXPECT_EQ(rules.passed().size(), 3U);
    rules.drop();
    EXPECT_TRUE(rules.rules().empty());
    const std::string name = to_string(endpoint);
    EXPECT_EQ(calls, (std::vector<std::string>{"add " + name, "host 1 6", "6", "remove " + name, "gone"}));
}

TEST_F(PortRulesTest, AreReportedOutOfForceOnceInTheLifeOfThePort) {
    use();
    EXPECT_EQ(rules.first_out_of_force(), "");
    trouble = "another program has taken them away";
    EXPECT_EQ(rules.first_out_of_force(), trouble);
    EXPECT_EQ(rules.first_out_of_force(), "");
    rules.drop();
    use();
    EXPECT_EQ(rules.first_out_of_force(), "") << "a restart is no new report";
}

}  // namespace
}  // namespace spead::port::test
