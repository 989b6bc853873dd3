// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chunk_sink.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace spead::runtime::unit_test {
namespace {

using memory::MemoryKind;

TEST(CheckReadable, RefusesSinksThatReadMemoryOfADevice) {
    for (const SinkKind sink : {SinkKind::verify, SinkKind::file}) {
        EXPECT_NO_THROW(check_readable(sink, MemoryKind::host, "s"));
        EXPECT_NO_THROW(check_readable(sink, MemoryKind::pinned, "s"));
        try {
            check_readable(sink, MemoryKind::device, "stream s0");
            FAIL() << "was not refused";
        } catch (const UsageError& e) {
            EXPECT_THAT(e.what(),
                        testing::AllOf(testing::HasSubstr("stream s0"),
                                       testing::HasSubstr(sink == SinkKind::file ? "`file`" : "`verify`"),
                                       testing::HasSubstr("device memory"), testing::HasSubstr("null")));
        }
    }
}

TEST(CheckReadable, AllowsSinksThatReadNothing) {
    for (const SinkKind sink : {SinkKind::null, SinkKind::user})
        EXPECT_NO_THROW(check_readable(sink, MemoryKind::device, "s"));
}

TEST(ChunkMemory, IsPinnedOrHostMemory) {
    EXPECT_EQ(kind_of(ChunkMemory::host), MemoryKind::host);
    EXPECT_EQ(kind_of(ChunkMemory::huge), MemoryKind::host);
    EXPECT_EQ(kind_of(ChunkMemory::pinned), MemoryKind::pinned);
    EXPECT_EQ(kind_of(ChunkMemory::cuda_pinned), MemoryKind::pinned);
}

}  // namespace
}  // namespace spead::runtime::unit_test
