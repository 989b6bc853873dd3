// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/xdp_rules.hpp"

#include "base/error.hpp"
#include "base/ipv6_bytes.hpp"
#include "tests/unit/drivers/xdp_lab.hpp"

namespace spead::drivers::test {

namespace {

port::Rule rule(const char* endpoint, std::optional<std::uint16_t> vlan = std::nullopt) {
    port::Rule r;
    r.endpoint = parse_endpoints(endpoint).front();
    r.queues = {0};
    r.vlan = vlan;
    return r;
}

class XdpRules : public testing::Test {
  protected:
    void SetUp() override {
        if (const auto reason = enter_lab(); !reason.empty()) {
            GTEST_SKIP() << reason;
        }
        ASSERT_TRUE(steer_.loaded());
        ASSERT_TRUE(steer_.attach("dut"));
        table_ = make_xdp_rules("dut");
    }

    unsigned entries() const {
        SteerKey key{};
        unsigned count = 0;
        for (int more = bpf_map_get_next_key(map(), nullptr, &key); more == 0;
             more = bpf_map_get_next_key(map(), &key, &key)) {
            ++count;
        }
        return count;
    }
    int map() const { return steer_.map(STEER_ENDPOINTS); }

    LoadedSteer steer_;
    std::unique_ptr<port::RuleTable> table_;
};

TEST_F(XdpRules, ComeAndGoInTheMap) {
    table_->add(rule("239.1.1.1:7148"));
    table_->add(rule("239.1.1.2:7148"));
    table_->add(rule("239.1.1.1:7149@10.0.0.7"));
    EXPECT_EQ(entries(), 3U);
    table_->remove(parse_endpoints("239.1.1.2:7148").front());
    table_->remove(parse_endpoints("239.9.9.9:1").front());  // never had one
    EXPECT_EQ(entries(), 2U);
    const auto rules = table_->rules();
    ASSERT_EQ(rules.size(), 2U);
    EXPECT_EQ(rules[0].rule, rule("239.1.1.1:7148"));
    EXPECT_EQ(rules[1].rule, rule("239.1.1.1:7149@10.0.0.7"));
    table_->clear();
    EXPECT_EQ(entries(), 0U);
    EXPECT_TRUE(table_->rules().empty());
}

TEST_F(XdpRules, TellTheirTextAndHits) {
    table_->add(rule("239.1.1.1:7148", 10));
    const SteerKey key{{__builtin_bswap32(0xEF010101)}, {}, __builtin_bswap16(7148), 4};
    std::vector<SteerValue> values(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    ASSERT_EQ(bpf_map_lookup_elem(map(), &key, values.data()), 0);
    for (std::size_t cpu = 0; cpu < values.size(); ++cpu) {
        EXPECT_EQ(values[cpu].vlan, 10U);
        values[cpu].hits = 100 + cpu;
    }
    ASSERT_EQ(bpf_map_update_elem(map(), &key, values.data(), BPF_EXIST), 0);
    const auto state = table_->rules().front();
    EXPECT_TRUE(state.counted);
    EXPECT_EQ(state.hits, 100 * values.size() + values.size() * (values.size() - 1) / 2);
    EXPECT_NE(state.text.find("239.1.1.1:7148 vlan 10"), std::string::npos) << state.text;
}

TEST_F(XdpRules, TellWhatTheProgramPassed) {
    EXPECT_TRUE(table_->passed().empty());
    const int passed = steer_.map(STEER_PASSED);
    std::vector<SteerPassed> values(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    for (std::uint32_t i = 0; i < STEER_MAX_PASSED; ++i) {
        const SteerKey key{{__builtin_bswap32(0xEF010100 + i)}, {}, __builtin_bswap16(7148), 4};
        for (std::size_t cpu = 0; cpu < values.size(); ++cpu) {
            values[cpu] = {10 + i + cpu, {__builtin_bswap32(0x0A000001 + static_cast<std::uint32_t>(cpu))}};
        }
        ASSERT_EQ(bpf_map_update_elem(passed, &key, values.data(), BPF_NOEXIST), 0) << i;
    }
    const auto all = table_->passed();
    ASSERT_EQ(all.size(), STEER_MAX_PASSED);
    for (const port::PassedPackets& one : all) {
        const std::uint32_t i = one.endpoint.address.v4().value - 0xEF010100;
        ASSERT_LT(i, STEER_MAX_PASSED);
        EXPECT_EQ(one.endpoint.port, 7148);
        EXPECT_EQ(one.packets, (10 + i) * values.size() + values.size() * (values.size() - 1) / 2);
        EXPECT_EQ(to_string(one.source), fmt::format("10.0.0.{}", values.size())) << "the CPU that saw most";
    }
    table_ = make_xdp_rules("dut");
    EXPECT_TRUE(table_->passed().empty()) << "new rules count anew";
}

TEST_F(XdpRules, OfIpv6HaveTheWordsOfPackets) {
    table_->add(rule("[ff15::1]:7148"));
    table_->add(rule("[ff15::1]:7148@fd00:9::2", 10));
    SteerKey key{{}, {}, __builtin_bswap16(7148), 6};
    store_ipv6(key.address, {0xFF15'0000'0000'0000, 1});
    std::vector<SteerValue> values(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    ASSERT_EQ(bpf_map_lookup_elem(map(), &key, values.data()), 0);
    EXPECT_EQ(values[0].vlan, static_cast<std::uint32_t>(STEER_ANY_VLAN));
    store_ipv6(key.source, {0xFD00'0009'0000'0000, 2});
    ASSERT_EQ(bpf_map_lookup_elem(map(), &key, values.data()), 0);
    EXPECT_EQ(values[0].vlan, 10U);
    EXPECT_NE(table_->rules().back().text.find("[ff15::1]:7148@fd00:9::2 vlan 10"), std::string::npos);
    table_->remove(parse_endpoints("[ff15::1]:7148").front());
    EXPECT_EQ(entries(), 1U);
}

TEST_F(XdpRules, TellWhatOfIpv6TheProgramPassed) {
    SteerKey key{{}, {}, __builtin_bswap16(7148), 6};
    store_ipv6(key.address, {0xFF15'0000'0000'0000, 1});
    std::vector<SteerPassed> values(static_cast<std::size_t>(libbpf_num_possible_cpus()));
    values[0].packets = 5;
    store_ipv6(values[0].source, {0xFD00'0009'0000'0000, 2});
    ASSERT_EQ(bpf_map_update_elem(steer_.map(STEER_PASSED), &key, values.data(), BPF_NOEXIST), 0);
    const auto all = table_->passed();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(to_string(all.front().endpoint), "[ff15::1]:7148");
    EXPECT_EQ(to_string(all.front().source), "fd00:9::2");
    EXPECT_EQ(all.front().packets, 5U);
}

TEST_F(XdpRules, TellThatAnotherProgramHasTakenTheirPlace) {
    table_->add(rule("239.1.1.1:7148"));
    EXPECT_EQ(table_->out_of_force(), "");
    ASSERT_TRUE(attach_elses("dut"));
    EXPECT_NE(table_->out_of_force().find("\"elses\""), std::string::npos) << table_->out_of_force();
    EXPECT_NE(table_->rules().front().text.find("not in force"), std::string::npos);
}

TEST_F(XdpRules, RefuseASecondRuleOfAnEndpoint) {
    table_->add(rule("239.1.1.1:7148"));
    EXPECT_THROW(table_->add(rule("239.1.1.1:7148", 5)), Error);
    EXPECT_EQ(table_->rules().size(), 1U);
    EXPECT_EQ(table_->rules().front().rule.vlan, std::nullopt);
    EXPECT_THROW(table_->add(rule("239.1.1.2:7148", 4095)), UsageError);
    EXPECT_EQ(entries(), 1U);
}

TEST_F(XdpRules, RefuseMoreThanTheProgramHolds) {
    port::Rule r = rule("239.0.0.0:7148");
    std::string refusal;
    unsigned added = 0;
    try {
        for (; added < 2 * STEER_MAX_ENDPOINTS; ++added, r.endpoint.address = r.endpoint.address.after(1)) {
            table_->add(r);
        }
    } catch (const Error& error) {
        refusal = error.what();
    }
    EXPECT_GE(added, static_cast<unsigned>(STEER_MAX_ENDPOINTS));
    EXPECT_LT(added, static_cast<unsigned>(STEER_MAX_ENDPOINTS) + 1024);
    EXPECT_NE(refusal.find(std::to_string(STEER_MAX_ENDPOINTS)), std::string::npos) << refusal;
    EXPECT_EQ(table_->rules().size(), added);
}

TEST_F(XdpRules, AreTakenAwayWithTheTable) {
    table_->add(rule("239.1.1.1:7148"));
    table_.reset();
    EXPECT_EQ(entries(), 0U);
}

TEST_F(XdpRules, AreRefusedWhereTheProgramIsNotThisProcesss) {
    EXPECT_THROW(make_xdp_rules("peer"), Error);
    EXPECT_THROW(make_xdp_rules("nothing"), Error);
}

}  // namespace

}  // namespace spead::drivers::test
