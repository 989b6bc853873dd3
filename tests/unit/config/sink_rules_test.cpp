// SPDX-License-Identifier: BSD-3-Clause
#include "config/sink_rules.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::config {
namespace {

using runtime::ReceivePlan;
using runtime::SinkKind;
using testing::HasSubstr;

ReceivePlan stream_of(const std::string& axis = "item 0x4103 - 1024 / 256") {
    ReceivePlan r;
    r.name = "s0";
    r.chunk.emplace();
    r.chunk->placement = "heap 4096; axis chan: " + axis + " [4]; time: item 0x1600 / 256 [8]";
    r.sink.kind = SinkKind::zarr;
    r.sink.directory = "out";
    return r;
}

std::string refusal_of(const ReceivePlan& stream) {
    try {
        check_arrays(stream, [](std::string_view key) { return std::string(key); });
    } catch (const UsageError& error) {
        return error.where() + ": " + error.what();
    }
    return "was not refused";
}

TEST(CheckArrays, WantsChunksAndKeysThatFit) {
    EXPECT_EQ(refusal_of(stream_of()), "was not refused");
    ReceivePlan r = stream_of();
    r.chunk.reset();
    EXPECT_THAT(refusal_of(r), HasSubstr("stream `s0` has heaps only"));
    r = stream_of();
    r.sink.kind = SinkKind::raw;
    EXPECT_EQ(refusal_of(r), "was not refused");
    r.sink.columns = "chan";
    EXPECT_THAT(refusal_of(r), HasSubstr("`columns` is for a zarr sink, and this one is `raw`"));
    r = stream_of();
    r.sink.dtype = "<c16";
    EXPECT_EQ(refusal_of(r), "was not refused");
    r.chunk->placement = "heap 4100; time: item 0x1600 / 256 [8]";
    EXPECT_THAT(refusal_of(r), HasSubstr("heaps have 4100 bytes"));
    r = stream_of();
    r.sink.column = "0/2";
    EXPECT_THAT(refusal_of(r), HasSubstr("column: `column` is a part of an axis"));
    r.sink.columns = "beam";
    EXPECT_THAT(refusal_of(r), HasSubstr("no axis `beam`"));
    r = stream_of();
    r.sink.columns = "chan";
    EXPECT_EQ(refusal_of(r), "was not refused");
    r.shard = runtime::ShardScope::stream;
    EXPECT_THAT(refusal_of(r), HasSubstr("one shard has all of stream `s0`"));
}

TEST(CheckDirectories, AreOfARawSinkAndEachAnother) {
    const auto refusal = [](SinkKind kind, std::vector<std::string> directories, const std::string& one) {
        runtime::SinkPlan sink{kind, one};
        sink.directories = std::move(directories);
        try {
            check_directories(sink, "here");
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string("was not refused");
    };
    EXPECT_EQ(refusal(SinkKind::raw, {"a", "b"}, ""), "was not refused");
    EXPECT_EQ(refusal(SinkKind::file, {}, "a"), "was not refused");
    EXPECT_THAT(refusal(SinkKind::file, {"a"}, ""), HasSubstr("is for a raw sink, and this one is `file`"));
    EXPECT_THAT(refusal(SinkKind::raw, {"a"}, "b"), HasSubstr("leave one of them out"));
    EXPECT_THAT(refusal(SinkKind::raw, {"a", ""}, ""), HasSubstr("has no name"));
    EXPECT_THAT(refusal(SinkKind::raw, {"a", "b", "a"}, ""), HasSubstr("`a` and `a` are the same directory"));
    EXPECT_THAT(refusal(SinkKind::raw, std::vector<std::string>(kMostDirectories + 1, "a"), ""),
                HasSubstr("give 1 to 64"));
}

TEST(DealColumn, GivesEachShardTheNumbersOfItsColumn) {
    ReceivePlan r = stream_of();
    r.sink.columns = "chan";
    deal_column(r, {2, 4}, "");
    EXPECT_EQ(r.sink.column, "2/4");
    EXPECT_EQ(chunk::Placement::parse(r.chunk->placement).axes[0].term.first, 1024U + 2 * 4 * 256);
    const ReceivePlan dealt = r;
    deal_column(r, {1, 4}, "");
    EXPECT_EQ(r, dealt) << "it is the plan of one shard already";
}

TEST(DealColumn, LeavesPlacesThatCountTheShardsOwnEndpoints) {
    ReceivePlan r = stream_of("endpoint");
    r.sink.columns = "chan";
    const std::string placement = r.chunk->placement;
    deal_column(r, {2, 4}, "");
    EXPECT_EQ(r.sink.column, "2/4");
    EXPECT_EQ(r.chunk->placement, placement);
}

TEST(DealColumn, LeavesStreamsThatAreNotDealt) {
    for (const runtime::ShardScope scope : {runtime::ShardScope::all, runtime::ShardScope::stream}) {
        ReceivePlan r = stream_of();
        r.sink.columns = "chan";
        r.shard = scope;
        const ReceivePlan before = r;
        deal_column(r, {2, 4}, "");
        EXPECT_EQ(r, before);
    }
    ReceivePlan r = stream_of();
    const ReceivePlan before = r;
    deal_column(r, {2, 4}, "");
    EXPECT_EQ(r, before);
}

TEST(DealColumn, RefusesNumbersBeyondTheirBits) {
    ReceivePlan r = stream_of("item 0x4103 / 4611686018427387904");
    r.sink.columns = "chan";
    EXPECT_THROW(deal_column(r, {2, 4}, "here"), UsageError);
}

}  // namespace
}  // namespace spead::config
