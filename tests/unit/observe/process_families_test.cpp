// SPDX-License-Identifier: BSD-3-Clause
#include "observe/process_families.hpp"

#include <gmock/gmock.h>
#include <prometheus/text_serializer.h>

namespace spead::observe {
namespace {

using testing::HasSubstr;

TEST(ProcessFamilies, HaveTheNamesThatClientLibrariesShare) {
    const ProcessUsage usage{.cpu_s = 1.5,
                             .start_s = 1700000000.25,
                             .resident_bytes = 1001,
                             .virtual_bytes = 1002,
                             .threads = 1003,
                             .descriptors = 1004,
                             .most_descriptors = 1005};
    const std::string text =
        prometheus::TextSerializer().Serialize(process_families({"x", "1.2.3", "DPDK 22.11.0"}, usage));
    for (const char* const line :
         {"# TYPE spead_build_info gauge\nspead_build_info{version=\"1.2.3\",dpdk=\"DPDK 22.11.0\"} 1\n",
          "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 1.5\n",
          "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1700000000.25\n",
          "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes 1001\n",
          "# TYPE process_virtual_memory_bytes gauge\nprocess_virtual_memory_bytes 1002\n",
          "# TYPE process_threads gauge\nprocess_threads 1003\n",
          "# TYPE process_open_fds gauge\nprocess_open_fds 1004\n",
          "# TYPE process_max_fds gauge\nprocess_max_fds 1005\n"})
        EXPECT_THAT(text, HasSubstr(line));
}

TEST(ProcessFamilies, WhatIsNotKnownHasNoSeries) {
    const auto families = process_families({"x", "1.2.3", "DPDK"}, ProcessUsage{});
    ASSERT_EQ(families.size(), 1u);
    EXPECT_EQ(families[0].name, "spead_build_info");
}

TEST(ProcessFamilies, EverySeriesGetsTheLabelOfItsProcess) {
    prometheus::ClientMetric plain;
    prometheus::ClientMetric labelled;
    labelled.label = {{"stream", "s0"}};
    std::vector<prometheus::MetricFamily> families{
        {"spead_a", "A.", prometheus::MetricType::Gauge, {plain, labelled}},
        {"spead_b", "B.", prometheus::MetricType::Gauge, {plain}}};
    label_process(families, "a \"name\"");
    const std::string text = prometheus::TextSerializer().Serialize(families);
    EXPECT_THAT(text, HasSubstr("spead_a{process=\"a \\\"name\\\"\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("spead_a{process=\"a \\\"name\\\"\",stream=\"s0\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("spead_b{process=\"a \\\"name\\\"\"} 0\n"));
}

}  // namespace
}  // namespace spead::observe
