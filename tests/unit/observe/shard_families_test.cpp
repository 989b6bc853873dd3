// SPDX-License-Identifier: BSD-3-Clause
#include "observe/shard_families.hpp"

#include <prometheus/text_serializer.h>

#include <gtest/gtest.h>

#include "observe/report_details.hpp"

namespace spead::observe {
namespace {

std::string text_of(const stats::ShardSnapshot& shard) {
    stats::Snapshot now;
    now.shard = shard;
    for (const char* name : {"vis", "cal"})
        now.streams.emplace_back().name = name;
    const std::string text = prometheus::TextSerializer().Serialize(shard_families("fleet", now));
    std::string samples;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        if (text[at] != '#')
            samples += text.substr(at, end + 1 - at);
        at = end + 1;
    }
    return samples;
}

TEST(ShardFamilies, NameTheShardAndCountItsEndpoints) {
    EXPECT_EQ(text_of({2, 3, 12, 4, {"cal"}}),
              "spead_shard_info{plan=\"fleet\",shard=\"2\",shards=\"3\"} 1\n"
              "spead_plan_endpoints{scope=\"all\"} 12\n"
              "spead_plan_endpoints{scope=\"mine\"} 4\n"
              "spead_stream_shared{stream=\"vis\"} 0\n"
              "spead_stream_shared{stream=\"cal\"} 1\n");
}

TEST(ShardFamilies, AWholePlanIsTheOnlyShard) {
    EXPECT_EQ(text_of({0, 1, 7, 7, {}}),
              "spead_shard_info{plan=\"fleet\",shard=\"0\",shards=\"1\"} 1\n"
              "spead_plan_endpoints{scope=\"all\"} 7\n"
              "spead_plan_endpoints{scope=\"mine\"} 7\n"
              "spead_stream_shared{stream=\"vis\"} 0\n"
              "spead_stream_shared{stream=\"cal\"} 0\n");
}

TEST(ShardClause, IsThereWhereThePlanIsDealt) {
    EXPECT_EQ(shard_clause({}), "");
    EXPECT_EQ(shard_clause({2, 3, 12, 4, {}}), "; shard 2/3: 4 of 12 endpoints of the plan");
}

}  // namespace
}  // namespace spead::observe
