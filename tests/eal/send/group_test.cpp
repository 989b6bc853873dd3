// SPDX-License-Identifier: BSD-3-Clause
// Heaps that are given up, or are done, while others of their group or of groups behind it are not.
#include <array>
#include <gmock/gmock.h>

#include "tests/eal/send/rig.hpp"

namespace spead::send::test {
namespace {

using testing::Each;
using testing::ElementsAre;

class GroupTest : public LimitedPortTest {
  protected:
    void poll_at(std::uint64_t time) {
        sender().poll(clock_now = now = time);
        take_completions();
    }
    /// Submits heaps of so many bytes, each a group of its own.
    void submit(std::initializer_list<std::size_t> sizes) {
        for (const std::size_t bytes : sizes)
            ASSERT_TRUE(sender().submit({&heap(bytes, 64 * heaps.size())}));
    }
    void submit_group(std::initializer_list<std::size_t> sizes) {
        std::vector<Submission> group;
        for (const std::size_t bytes : sizes)
            group.push_back({&heap(bytes, 64 * heaps.size())});
        ASSERT_TRUE(sender().submit(group, Interleave::round_robin));
    }
    /// Returns the payloads of one heap, as they were sent.
    std::vector<Bytes> payloads_of(std::uint64_t cnt) const {
        std::vector<Bytes> of_heap = payloads();
        std::erase_if(of_heap, [cnt](const Bytes& p) { return cnt_of(p) != cnt; });
        return of_heap;
    }
    /// Checks that every heap that was sent arrived whole, and nothing else did.
    void expect_sent_heaps_whole() {
        std::size_t packets = 0;
        for (std::size_t i = 0; i < completions.size(); ++i) {
            if (completions[i].status != SendStatus::sent)
                continue;
            const std::vector<Bytes> whole = expected(*completions[i].heap, completions[i].cnt);
            EXPECT_EQ(payloads_of(completions[i].cnt), whole) << "heap " << completions[i].cnt;
            packets += whole.size();
        }
        EXPECT_EQ(queue.frames.size(), packets) << "packets of no heap";
    }
};

/// Stops a port under a slow sender, and ends the run: heaps are cut that no group has had.
TEST_F(GroupTest, ABacklogIsToldAfterHeapsBehindTheGroupWereCutOnAStoppedPort) {
    config.pacing = {1000, 1, 1};
    takes = 1;
    submit({100'000, 100'000, 100'000});
    poll_at(2);
    EXPECT_EQ(queue.taken, 1U);
    sender().set_queue({});
    sender().request_cut(Cut::begun);
    poll_at(3);
    EXPECT_EQ(sender().backlog().begun, 0U);
    EXPECT_EQ(sender().backlog().all, 0U);
    EXPECT_THAT(statuses(), ElementsAre(SendStatus::aborted, SendStatus::aborted, SendStatus::aborted));
    EXPECT_TRUE(sender().idle());
}

/// Deletes the port's interface: heaps time out that no group has had.
TEST_F(GroupTest, ABacklogIsToldAfterHeapsBehindTheGroupTimedOutOnAPortThatIsAway) {
    config.timeout_ticks = kTimeout;
    config.pacing = {1000, 1, 1};
    takes = 1;
    submit({4096, 4096, 4096, 4096});
    poll_at(2);
    sender().set_queue({});
    poll_at(kTimeout + 2);
    EXPECT_EQ(completions.size(), 4U);
    EXPECT_THAT(statuses(), Each(SendStatus::timed_out));
    EXPECT_EQ(sender().backlog().begun, 0U);
    EXPECT_EQ(sender().backlog().all, 0U);
    sender().request_cut(Cut::begun);
    poll_at(kTimeout + 3);
    EXPECT_TRUE(sender().idle());
}

/// Does the same, and the port comes back: heaps submitted next lie in the slots of heaps that are gone.
TEST_F(GroupTest, HeapsAreSentInOrderAfterOthersTimedOutOnAPortThatWasAway) {
    config.timeout_ticks = kTimeout;
    config.max_heaps = 4;
    submit({100'000, 4096, 4096});
    poll_at(2);  // the first one's group begins
    sender().set_queue({});
    poll_at(kTimeout + 2);
    ASSERT_EQ(completions.size(), 3U);
    clock_now = kTimeout + 3;
    submit({100'000, 100'000, 100'000, 100'000});
    poll_at(2 * kTimeout + 2);  // a look at the deadlines takes them into their slots
    sender().set_queue(queue.queue());
    takes = 1;
    poll_at(2 * kTimeout + 2);
    ASSERT_EQ(queue.frames.size(), 1U);
    EXPECT_EQ(cnt_of(queue.frames[0].payload()), 4U);
    poll_at(2 * kTimeout + 3);
    EXPECT_EQ(completions.size(), 7U);
    EXPECT_THAT(statuses(), Each(SendStatus::timed_out));
    EXPECT_EQ(sender().backlog().all, 0U);
    takes = 60'000;
    submit({4096});
    poll_at(2 * kTimeout + 4);
    EXPECT_EQ(completions.back().status, SendStatus::sent);
    EXPECT_EQ(payloads_of(8), expected(heaps.back(), 8));
}

/// Completes a heap of the group, and reuses its slot for a later heap, while the others take their turns.
TEST_F(GroupTest, TurnsPassOverTheSlotsOfHeapsThatAreDone) {
    config.timeout_ticks = kTimeout;
    config.max_heaps = 4;
    poll_at(1000);  // deadlines are looked at next at 1000 + kTimeout
    clock_now = 2000;
    submit_group({100, 100'000, 100'000, 100'000});
    takes = 40;
    poll_at(3000);
    ASSERT_EQ(completions.size(), 1U) << "the short heap";
    submit({100'000});
    takes = 60'000;
    for (std::uint64_t time = 1000 + kTimeout; !sender().idle() && time < 1100 + kTimeout; ++time)
        poll_at(time);
    EXPECT_EQ(completions.size(), 5U);
    EXPECT_THAT(statuses(), Each(SendStatus::sent));
    expect_sent_heaps_whole();
    EXPECT_EQ(sender().backlog().all, 0U);
}

/// Gives up the heap whose turn it is, and those around it, one after the other.
TEST_F(GroupTest, TheRestOfAGroupGoesOnWhateverIsGivenUp) {
    for (unsigned control = 0; control < 32; ++control) {
        SCOPED_TRACE(control);
        config.timeout_ticks = kTimeout;
        config.max_heaps = 8;
        std::vector<Submission> group;
        for (unsigned i = 0; i < 5; ++i) {
            group.push_back({&heap(5000, 64 * i)});
            group.back().control = (control >> i & 1) != 0;
        }
        clock_now = now;
        takes = static_cast<std::uint16_t>(control % 7);
        ASSERT_TRUE(sender().submit(group, Interleave::round_robin));
        poll_at(now + 1);
        poll_at(now + kTimeout);
        takes = 60'000;
        poll_at(now + 1);
        submit({3000});
        poll_at(now + 1);
        poll_at(now + 1);
        EXPECT_TRUE(sender().idle());
        ASSERT_EQ(completions.size(), 6U);
        for (unsigned i = 0; i < 6; ++i) {
            const bool sent = i == 5 || (control >> i & 1) != 0;
            EXPECT_EQ(completions[i].status, sent ? SendStatus::sent : SendStatus::timed_out) << i;
            const std::vector<Bytes> whole = expected(*completions[i].heap, completions[i].cnt);
            if (sent) {
                EXPECT_EQ(payloads_of(completions[i].cnt), whole) << i;
            }
        }
        EXPECT_EQ(sender().backlog().all, 0U);
        finish();
        completions.clear();
        queue.frames.clear();
        queue.taken = 0;
    }
}

}  // namespace
}  // namespace spead::send::test
