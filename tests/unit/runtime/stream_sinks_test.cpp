// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stream_sinks.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/unit/runtime/received_heaps.hpp"

namespace spead::runtime::unit_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Has verified some heaps, and takes no more.
class FullSink : public Sink {
  public:
    FullSink(std::uint64_t right, std::uint64_t wrong) {
        for (; right > 0; right--)
            count_compared(true);
        for (; wrong > 0; wrong--)
            count_compared(false);
        show_compared();
    }
    void consume(const heap::HeapHandle&) override { throw Error("sink", "the disk is full"); }
};

TEST(StreamSinks, KeepFormerOnesUntilTheyAreUnused) {
    StreamSinks sinks;
    sinks.replace(nullptr);
    EXPECT_THAT(sinks.former(), IsEmpty());
    std::vector<std::shared_ptr<Sink>> made;
    for (int i = 0; i < 4; i++) {
        made.push_back(std::make_shared<NullSink>());
        sinks.replace(made.back());
        EXPECT_EQ(sinks.current(), made.back());
    }
    EXPECT_THAT(sinks.former(), ElementsAre(made[0], made[1], made[2]));
    EXPECT_THAT(sinks.take_unused([&](const Sink& s) { return &s == made[1].get(); }),
                ElementsAre(made[0], made[2]));
    EXPECT_THAT(sinks.former(), ElementsAre(made[1]));
    sinks.replace(nullptr);
    EXPECT_EQ(sinks.current(), nullptr);
    EXPECT_THAT(sinks.take_unused([](const Sink&) { return true; }), IsEmpty());
    EXPECT_THAT(sinks.take_unused([](const Sink&) { return false; }), ElementsAre(made[1], made[3]));
    EXPECT_THAT(sinks.former(), IsEmpty());
}

TEST(StreamSinks, AddCountsOfAllAndTheFailureOfTheCurrentOne) {
    Rig rig;
    StreamSinks sinks;
    sinks.replace(std::make_shared<FullSink>(10, 1));
    sinks.replace(std::make_shared<FullSink>(20, 2));
    stats::StreamSnapshot snap;
    snap.heaps_verified = 100;
    static_cast<void>(sinks.former()[0]->take(heap_of(rig, {Packet(1).whole(8)})));
    sinks.add_to(snap);
    EXPECT_EQ(snap.heaps_verified, 130U);
    EXPECT_EQ(snap.heaps_wrong, 3U);
    EXPECT_EQ(snap.sink_failure, "");
    static_cast<void>(sinks.current()->take(heap_of(rig, {Packet(2).whole(8)})));
    sinks.add_to(snap);
    EXPECT_THAT(snap.sink_failure, HasSubstr("the disk is full"));
}

}  // namespace
}  // namespace spead::runtime::unit_test
