// SPDX-License-Identifier: BSD-3-Clause
#include "observe/key_words.hpp"

#include <gtest/gtest.h>

#include "config/edit.hpp"
#include "observe/report.hpp"
#include "tests/unit/observe/snapshots.hpp"

namespace spead::observe {
namespace {

TEST(KeyWords, OptionsBecomeKeysAndTheRestStays) {
    EXPECT_EQ(with_keys("raise --ring-heaps or do less"), "raise heaps.ring or do less");
    EXPECT_EQ(with_keys("(--max-heaps), --max-heap-bytes;"), "(heaps.max_live), heaps.max_bytes;");
    EXPECT_EQ(with_keys("--no-such --"), "--no-such --");
    EXPECT_EQ(with_keys(""), "");
}

/// Of everything that can be found at once.
TEST(KeyWords, AdviceHasNoOptionLeft) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.captures.resize(1);
    snapshot.captures[0].dropped_full = 1;
    const auto advice = report_advice(snapshot);
    ASSERT_GT(advice.size(), 10U);
    for (const std::string& sentence : advice)
        EXPECT_EQ(with_keys(sentence).find("--"), std::string::npos) << sentence;
}

TEST(KeyWords, KeysAreTheStreams) {
    for (const char* option : {"--ring-heaps", "--max-heaps", "--max-heap-bytes", "--heap-timeout",
                               "--in-order", "--lcores", "--max-packet-size", "--buffer-size", "--poll",
                               "--substreams", "--buffer", "--snaplen", "--direct-io"})
        EXPECT_NO_THROW(config::check_stream_key(with_keys(option))) << option;
    EXPECT_NO_THROW(config::check_send_key(with_keys("--burst-size")));
}

}  // namespace
}  // namespace spead::observe
