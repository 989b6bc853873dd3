// SPDX-License-Identifier: BSD-3-Clause
#include "config/engine_rules.hpp"

#include <gmock/gmock.h>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace spead::config::engine_rules_test {
namespace {

using runtime::HeapEngine;
using runtime::ReceivePlan;
using runtime::SinkKind;
using testing::HasSubstr;

ReceivePlan stream(HeapEngine engine) {
    ReceivePlan r;
    r.name = "s0";
    r.engine = engine;
    return r;
}

void expect_fault(const ReceivePlan& r, std::string_view key, const std::string& says, bool kernel = false) {
    const auto fault = engine_fault(r, kernel);
    ASSERT_TRUE(fault) << says;
    EXPECT_EQ(fault->key, key);
    EXPECT_THAT(fault->what, HasSubstr(says));
}

TEST(EngineRules, AskNothingOfStreamsThatCopy) {
    ReceivePlan r = stream(HeapEngine::none);
    r.lend = 10;
    r.chunk.emplace();
    r.max_bytes = std::uint64_t{1} << 40;
    r.sink.kind = SinkKind::raw;
    EXPECT_FALSE(engine_fault(r, true));
}

TEST(EngineRules, WantHeapsWhosePacketsStayAndOfWhichOneFits) {
    ReceivePlan r = stream(HeapEngine::cpu);
    EXPECT_FALSE(engine_fault(r, false));
    expect_fault(r, "heaps.gather", "kernel sockets", true);
    r.max_bytes = r.engine_memory + 1;
    expect_fault(r, "heaps.gather_memory", "raise `gather_memory`");
    r.lend = 10;
    expect_fault(r, "lend", "go to the engine `cpu`");
}

TEST(EngineRules, WantChunksInTheirMemoryWithPayloadInOnePiece) {
    ReceivePlan r = stream(HeapEngine::fake);
    r.max_bytes = r.engine_memory + 1;  // chunks have no such limit
    r.sink.kind = SinkKind::raw;        // it gets them fetched
    r.chunk.emplace();
    r.chunk->placement = "heap 64; time: heap [8]";
    EXPECT_FALSE(engine_fault(r, false));
    r.chunk->placement = "heap 64; time: heap [8] by 512; rows 8 by 64";
    expect_fault(r, "chunk.placement", "leave out `rows`");
    r.chunk->placement = "heap 64; time: heap [8]";
    r.chunk->memory = runtime::ChunkMemory::cuda_pinned;
    expect_fault(r, "chunk.memory", "leave out `memory`");
    r.chunk->memory = runtime::ChunkMemory::host;
    r.sink.kind = SinkKind::user;
    expect_fault(r, "heaps.gather", "a program's own");
}

TEST(EngineRules, WantSinksThatNeedNotReadADevicesMemory) {
    for (const SinkKind kind :
         {SinkKind::null, SinkKind::verify, SinkKind::file, SinkKind::raw, SinkKind::dada}) {
        ReceivePlan r = stream(HeapEngine::cpu);
        r.sink.kind = kind;
        EXPECT_FALSE(engine_fault(r, false));
        for (const auto& [engine, name] :
             {std::pair{HeapEngine::fake, "`fake`"}, std::pair{HeapEngine::cuda, "`cuda`"}}) {
            r.engine = engine;
            if (kind == SinkKind::null || kind == SinkKind::verify)
                EXPECT_FALSE(engine_fault(r, false));
            else
                expect_fault(r, "sink.kind", std::string("memory of the engine ") + name);
        }
    }
}

}  // namespace
}  // namespace spead::config::engine_rules_test
