// SPDX-License-Identifier: BSD-3-Clause
#include "observe/key_words.hpp"

#include <gtest/gtest.h>

#include "config/keys.hpp"
#include "observe/report.hpp"
#include "tests/unit/observe/snapshots.hpp"

namespace spead::observe {
namespace {

TEST(KeyWords, OptionsBecomeKeysAndTheRestStays) {
    EXPECT_EQ(with_keys("raise --ring-heaps or do less"), "raise heaps.queue_depth or do less");
    EXPECT_EQ(with_keys("(--max-heaps), --max-heap-bytes;"), "(heaps.max_live), heaps.max_bytes;");
    EXPECT_EQ(with_keys("--no-such --"), "--no-such --");
    EXPECT_EQ(with_keys(""), "");
    EXPECT_EQ(with_keys("run `x --ring-heaps 2`, or raise --ring-heaps"),
              "run `x --ring-heaps 2`, or raise heaps.queue_depth");
    EXPECT_EQ(with_keys("`--ring-heaps"), "`--ring-heaps") << "a quote without an end";
}

/// Tests the advice on everything that can be found at once.
TEST(KeyWords, AdviceHasNoOptionLeft) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.captures.resize(1);
    snapshot.captures[0].dropped_full = 1;
    const auto advice = report_advice(snapshot);
    ASSERT_GT(advice.size(), 10U);
    for (const std::string& sentence : advice)
        EXPECT_EQ(with_keys(sentence).find("--"), std::string::npos) << sentence;
}

TEST(KeyWords, AStreamsKeyComesBeforeASendersAndEachBecomesOne) {
    EXPECT_EQ(with_keys("--max-heaps --max-packet-size"), "heaps.max_live max_packet_size");
    EXPECT_EQ(with_keys("--burst-size, --impair"), "burst_size, impair");
    EXPECT_EQ(with_keys("raise --memory, add a --file"),
              "raise heaps of [memory], add a file (capture.files)");
    for (const std::string_view root : {"receive", "send"})
        for (const std::string& path : config::key_paths(root)) {
            const std::string option(config::find_key(root, path)->option);
            if (!option.starts_with("--"))
                continue;
            const std::string key = with_keys(option);
            EXPECT_TRUE(config::find_key("receive", key) != nullptr ||
                        config::find_key("send", key) != nullptr)
                << option << " becomes " << key;
        }
}

}  // namespace
}  // namespace spead::observe
