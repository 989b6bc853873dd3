// SPDX-License-Identifier: BSD-3-Clause
#include "sink/dada_ring.hpp"

#include <gmock/gmock.h>
#include <thread>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/open_output.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/sink/dada_rig.hpp"

namespace spead::sink::test {
namespace {

using spead::test::error_of;
using spead::test::usage_error_of;
using testing::AllOf;
using testing::HasSubstr;

DadaRing::Clock::time_point now() {
    return DadaRing::Clock::now();
}

std::string refusal_of(std::uint32_t key) {
    return error_of([&] { DadaRing(key, "ring"); });
}

constexpr uid_t kStranger = 65534;

/// Changes whose a segment or a set of semaphores is, until the end of the test.
class Access {
  public:
    Access(bool memory, int id) : memory_(memory), id_(id), before_(now()) {}
    ~Access() { set(before_); }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

    template <typename Change>
    void change(Change change) {
        ipc_perm changed = before_;
        change(changed);
        set(changed);
    }

  private:
    ipc_perm now() const {
        shmid_ds segment{};
        semid_ds semaphores{};
        EXPECT_EQ(memory_ ? shmctl(id_, IPC_STAT, &segment) : semctl(id_, 0, IPC_STAT, &semaphores), 0);
        return memory_ ? segment.shm_perm : semaphores.sem_perm;
    }
    void set(const ipc_perm& to) {
        shmid_ds segment{};
        segment.shm_perm = to;
        semid_ds semaphores{};
        semaphores.sem_perm = to;
        EXPECT_EQ(memory_ ? shmctl(id_, IPC_SET, &segment) : semctl(id_, 0, IPC_SET, &semaphores), 0)
            << std::strerror(errno);
    }

    bool memory_;
    int id_;
    ipc_perm before_;
};

/// Writes a block full of one letter.
void write_block(DadaRing& ring, char letter) {
    const std::span<std::byte> block = ring.next_block();
    ASSERT_FALSE(block.empty());
    std::memset(block.data(), letter, block.size());
    ring.filled();
}

TEST(DadaKey, IsHexadecimal) {
    EXPECT_EQ(parse_dada_key(""), 0xdadaU);
    EXPECT_EQ(parse_dada_key("dada"), 0xdadaU);
    EXPECT_EQ(parse_dada_key("7ffffffe"), 0x7ffffffeU);
    for (const char* wrong :
         {"0", "x", "0xdada", "-1", "dada ", "7fffffff", "100000000", "ffffffffffffffffff"})
        EXPECT_THAT(usage_error_of([&] { parse_dada_key(wrong, "--sink"); }), HasSubstr("no key of a ring"))
            << wrong;
}

TEST(DadaRing, IsWhatItsSegmentSays) {
    const std::uint32_t key = free_keys();
    Ring made(key, 4, 1000, 2);
    DadaRing ring(key, "ring");
    EXPECT_EQ(ring.blocks(), 4U);
    EXPECT_EQ(ring.block_bytes(), 1000U);
    EXPECT_EQ(ring.readers(), 2U);
}

TEST(DadaRing, RefusesWhatIsNoRing) {
    const std::uint32_t key = free_keys();
    EXPECT_THAT(refusal_of(key), AllOf(HasSubstr("there is none"), HasSubstr("dada_db")));
    {
        Ring small(key, 4, 1000, 1, sizeof(dada::Sync) - 8);
        EXPECT_THAT(refusal_of(key), HasSubstr("no ring of PSRDADA"));
    }
    for (const std::size_t off : {dada::segment_bytes(4) - 1, dada::segment_bytes(4) + 8}) {
        Ring other(key, 4, 1000, 1, off);
        EXPECT_THAT(refusal_of(key), AllOf(HasSubstr("of 4 blocks"), HasSubstr("another layout")));
    }
}

TEST(DadaRing, RefusesAbsurdNumbers) {
    const std::uint32_t key = free_keys();
    Ring made(key, 4, 1000);
    const auto with = [&](auto& member, auto value, const char* says) {
        const auto before = std::exchange(member, value);
        EXPECT_THAT(refusal_of(key), HasSubstr(says)) << value;
        member = before;
    };
    for (const std::uint64_t blocks : {0ULL, 1ULL, 16385ULL, ~0ULL})
        with(made.sync().blocks, blocks, "2 to 16384 blocks");
    with(made.sync().blocks, std::uint64_t{5}, "a ring of 5 blocks");
    for (const std::uint64_t bytes : {0ULL, ~0ULL})
        with(made.sync().block_bytes, bytes, "blocks of at most");
    with(made.sync().block_bytes, std::uint64_t{999}, "block 0 has 1000 bytes, and not 999");
    for (const std::uint32_t readers : {0U, 9U, ~0U})
        with(made.sync().readers, readers, "1 to 8");
    with(made.sync().readers, 2U, "semaphores of reader 1 (key 0)");
    with(made.sync().device, 0, "GPU 0");
    with(made.sync().connect_key, 0, "writer's lock");
    with(made.sync().connect_key, 1, "there is none");
    std::int32_t block_key = 0;
    std::memcpy(made.key_of(2), &block_key, sizeof block_key);
    EXPECT_THAT(refusal_of(key), HasSubstr("block 2 (key 0)"));
    // Neither key 0 nor a refusal made anything.
    EXPECT_LT(shmget(1, 0, 0), 0);
}

TEST(DadaRing, RefusesSetsWithTooFewSemaphores) {
    const std::uint32_t key = free_keys();
    Ring made(key, 4, 1000);
    made.sync().reader_keys[0] = made.sync().connect_key;
    EXPECT_THAT(refusal_of(key), HasSubstr("reader 0 has 2 semaphores instead of 5"));
}

TEST(DadaRing, RefusesMemoryAndSemaphoresOfOthers) {
    const std::uint32_t key = free_keys();
    Ring made(key, 4, 1000);
    const auto refuses = [&](bool memory, int id, const char* what) {
        Access access(memory, id);
        for (uid_t ipc_perm::*const owner : {&ipc_perm::uid, &ipc_perm::gid}) {
            access.change([&](ipc_perm& now) { now.*owner = kStranger; });
            EXPECT_THAT(refusal_of(key), AllOf(HasSubstr(what), HasSubstr("no part of this ring")));
        }
    };
    refuses(true, made.block_id(2), "block 2 belongs to user");
    refuses(false, made.connect(), "the writer's lock belongs to user");
    refuses(false, made.reader(0), "reader 0 belongs to user");
    EXPECT_EQ(spead::test::refusal([&] { DadaRing(key, "ring"); }), "");
}

TEST(DadaRing, RefusesMemoryThatNotAllMayWriteWhoMayWriteTheRing) {
    const std::uint32_t key = free_keys();
    Ring made(key, 4, 1000);
    Access access(true, made.ring_id());
    access.change([](ipc_perm& now) { now.mode = 0666; });
    EXPECT_THAT(refusal_of(key), HasSubstr("the writer's lock has mode 600, and the ring 666"));
    Access lock(false, made.connect());
    Access reader(false, made.reader(0));
    for (Access* const set : {&lock, &reader})
        set->change([](ipc_perm& now) { now.mode = 0666; });
    EXPECT_THAT(refusal_of(key), HasSubstr("block 0 has mode 600, and the ring 666"));
}

TEST(DadaRing, OfAnotherUserIsRefusedByRoot) {
    if (geteuid() != 0)
        GTEST_SKIP() << "only root refuses them";
    const std::uint32_t key = free_keys();
    Ring made(key, 4, 1000);
    Access access(true, made.ring_id());
    access.change([](ipc_perm& now) { now.uid = kStranger; });
    EXPECT_THAT(refusal_of(key), AllOf(HasSubstr("it belongs to user 65534"), HasSubstr("runs as root")));
    const TrustedUsersInstead trusted({kStranger});
    EXPECT_THAT(refusal_of(key), HasSubstr("it belongs to user 0")) << "it made the ring";
}

TEST(DadaRing, HasOneWriter) {
    const std::uint32_t key = free_keys();
    Ring made(key, 4, 1000);
    DadaRing first(key, "ring");
    EXPECT_TRUE(first.lock());
    {
        DadaRing second(key, "ring");
        EXPECT_FALSE(second.lock());
        EXPECT_TRUE(second.lock_is_of_this_process());
        first.unlock();
        EXPECT_TRUE(second.lock());
    }
    EXPECT_TRUE(first.lock());
}

TEST(DadaRing, GivesBlocksToEveryReaderInTurn) {
    const std::uint32_t key = free_keys();
    Ring made(key, 3, 4, 2);
    DadaRing ring(key, "ring");
    ASSERT_TRUE(ring.lock());
    ASSERT_TRUE(ring.start());
    for (const char letter : {'a', 'b', 'c'})
        write_block(ring, letter);
    EXPECT_TRUE(ring.next_block().empty()) << "it is full";
    EXPECT_FALSE(ring.wait(1, now()));
    Reader first(made, 0);
    Reader second(made, 1);
    EXPECT_EQ(first.all(), "aaaabbbbcccc");
    EXPECT_FALSE(ring.wait(1, now())) << "of one reader only";
    EXPECT_TRUE(ring.next_block().empty());
    EXPECT_EQ(made.value(0, dada::kClear), 3) << "nothing was taken";
    EXPECT_EQ(second.block(), "aaaa");
    EXPECT_TRUE(ring.wait(1, now()));
    EXPECT_FALSE(ring.wait(2, now()));
    write_block(ring, 'd');
    ASSERT_EQ(second.all(), "bbbbccccdddd");
    ASSERT_FALSE(ring.next_block().empty());
    ASSERT_TRUE(ring.end(2));
    EXPECT_FALSE(ring.writing());
    EXPECT_EQ(first.all(), std::string("dddd") + std::string(made.sync().end_byte[0], 'b'));
    EXPECT_TRUE(first.ended);
}

TEST(DadaRing, WaitsUntilAReaderLeavesABlock) {
    const std::uint32_t key = free_keys();
    Ring made(key, 2, 4);
    DadaRing ring(key, "ring");
    ASSERT_TRUE(ring.lock());
    ASSERT_TRUE(ring.start());
    write_block(ring, 'a');
    write_block(ring, 'b');
    Reader reader(made);
    std::thread later([&] { reader.all(); });
    EXPECT_TRUE(ring.wait(2, now() + std::chrono::minutes(1)));
    later.join();
    EXPECT_FALSE(ring.wait(3, now() + std::chrono::minutes(1))) << "more than the ring has";
}

TEST(DadaRing, HasAsManyTransfersAsItsBooks) {
    const std::uint32_t key = free_keys();
    Ring made(key, 16, 4);
    DadaRing ring(key, "ring");
    ASSERT_TRUE(ring.lock());
    for (std::size_t i = 0; i < dada::kTransfers; i++) {
        ASSERT_TRUE(ring.start()) << i;
        ASSERT_FALSE(ring.next_block().empty());
        ASSERT_TRUE(ring.end(i % 5));
    }
    EXPECT_FALSE(ring.can_start());
    EXPECT_FALSE(ring.start());
    Reader reader(made);
    for (std::size_t i = 0; i < dada::kTransfers; i++)
        EXPECT_EQ(reader.all().size(), i % 5);
    EXPECT_TRUE(ring.start());
}

TEST(DadaRing, LeavesTheBooksOfATransferThatIsBeingRead) {
    const std::uint32_t key = free_keys();
    Ring made(key, 16, 4);
    Reader reader(made);
    DadaRing ring(key, "ring");
    ASSERT_TRUE(ring.lock());
    for (std::size_t i = 0; i < dada::kTransfers; i++) {
        ASSERT_TRUE(ring.start()) << i;
        write_block(ring, 'a');
        ASSERT_FALSE(ring.next_block().empty());
        ASSERT_TRUE(ring.end(1));
    }
    EXPECT_EQ(reader.block(), "aaaa") << "it has begun the first, and not ended it";
    EXPECT_FALSE(ring.start());
    EXPECT_EQ(reader.block().size(), 1U);
    EXPECT_TRUE(ring.start());
}

TEST(DadaRing, GoesOnWhereAKilledWriterWas) {
    const std::uint32_t key = free_keys();
    Ring made(key, 3, 4);
    Reader reader(made);
    {
        DadaRing ring(key, "ring");
        ASSERT_TRUE(ring.lock());
        ASSERT_TRUE(ring.start());
        write_block(ring, 'a');
        ASSERT_FALSE(ring.next_block().empty());
    }
    made.sync().next = 99;  // as a writer leaves it that counts what it began
    DadaRing ring(key, "ring");
    ASSERT_TRUE(ring.lock());
    EXPECT_TRUE(ring.writing());
    write_block(ring, 'b');
    EXPECT_EQ(made.sync().next, 2U);
    EXPECT_EQ(reader.all(), "aaaabbbb");
}

TEST(DadaRing, DoesNotTrustItsMemoryWhileItWrites) {
    const std::uint32_t key = free_keys();
    Ring made(key, 3, 4);
    DadaRing ring(key, "ring");
    ASSERT_TRUE(ring.lock());
    ASSERT_TRUE(ring.start());
    write_block(ring, 'a');
    std::memset(static_cast<void*>(&made.sync()), 0xff, dada::segment_bytes(3));
    write_block(ring, 'b');
    write_block(ring, 'c');
    EXPECT_TRUE(ring.next_block().empty());
    EXPECT_EQ(made.block(2)[3], std::byte{'c'});
}

TEST(DadaRing, RefusesBlocksWithAbsurdBooks) {
    const std::uint32_t key = free_keys();
    Ring made(key, 3, 4);
    DadaRing ring(key, "ring");
    made.pending(1) = 100;
    EXPECT_THAT(error_of([&] { ring.lock(); }), HasSubstr("pending transfers"));
    made.pending(1) = 0;
    EXPECT_TRUE(ring.lock()) << "the lock was given back";
}

TEST(DadaRing, SaysWhenItWasRemoved) {
    const std::uint32_t key = free_keys();
    Ring made(key, 2, 4);
    DadaRing ring(key, "ring");
    ASSERT_TRUE(ring.lock());
    ASSERT_TRUE(ring.start());
    write_block(ring, 'a');
    made.remove();
    EXPECT_THAT(error_of([&] { write_block(ring, 'b'); }),
                AllOf(HasSubstr("semaphores were removed"), HasSubstr("dada_db")));
}

}  // namespace
}  // namespace spead::sink::test
