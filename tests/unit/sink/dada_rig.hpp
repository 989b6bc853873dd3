// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sink/dada_memory.hpp"

/// Makes rings as dada_db does, and reads them as its readers do, by docs/psrdada.md. Everything made is
/// removed.
namespace spead::sink::test {

/// Returns the first of `count` keys that no other test of this machine uses.
inline std::uint32_t free_keys(std::uint32_t count = 128) {
    static std::uint32_t next = 0;
    next += count;
    return 0x10000000U + static_cast<std::uint32_t>(getpid() % 0x8000) * 0x2000U + next;
}

inline void change(int set, unsigned short semaphore, short by) {
    sembuf step{semaphore, by, IPC_NOWAIT};
    ASSERT_EQ(semop(set, &step, 1), 0)
        << "semaphore " << semaphore << " by " << by << ": " << std::strerror(errno);
}

/// Holds one ring: the segment with its key, semaphores and blocks, at every second key behind it. So a
/// buffer of two rings has the keys in turn.
class Ring {
  public:
    Ring(std::uint32_t key, std::uint64_t blocks, std::uint64_t bytes, unsigned readers = 1,
         std::size_t segment = 0)
        : blocks_(blocks), bytes_(bytes) {
        std::uint32_t next = key + 2;
        sync_ =
            static_cast<dada::Sync*>(segment_of(key, segment != 0 ? segment : dada::segment_bytes(blocks)));
        sync_->blocks = blocks;
        sync_->block_bytes = bytes;
        sync_->readers = readers;
        sync_->device = -1;
        sync_->ended.fill(1);
        sync_->connect_key = static_cast<std::int32_t>(next);
        connect_ = set_of(next, dada::kConnectSemaphores);
        next += 2;
        change(connect_, dada::kWriter, 1);
        for (unsigned i = 0; i < readers; i++, next += 2) {
            sync_->reader_keys[i] = static_cast<std::int32_t>(next);
            readers_.push_back(set_of(next, dada::kReaderSemaphores));
            change(readers_.back(), dada::kStartAck, dada::kTransfers);
            change(readers_.back(), dada::kEndAck, dada::kTransfers);
        }
        for (std::uint64_t i = 0; segment == 0 && i < blocks; i++, next += 2) {
            const auto block_key = static_cast<std::int32_t>(next);
            std::memcpy(key_of(i), &block_key, sizeof block_key);
            memory_.push_back(static_cast<std::byte*>(segment_of(next, bytes)));
        }
    }
    ~Ring() { remove(); }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// Removes everything, as `dada_db -d` does.
    void remove() {
        for (const int id : std::exchange(shared_, {}))
            shmctl(id, IPC_RMID, nullptr);
        for (const int id : std::exchange(sets_, {}))
            semctl(id, 0, IPC_RMID);
        for (void* const at : std::exchange(attached_, {}))
            shmdt(at);
    }

    /// Gives everything to a group. Their owner remains.
    void give_to_group(gid_t group) {
        shmid_ds segment{};
        semid_ds set{};
        for (const int id : shared_) {
            ASSERT_EQ(shmctl(id, IPC_STAT, &segment), 0);
            segment.shm_perm.gid = group;
            ASSERT_EQ(shmctl(id, IPC_SET, &segment), 0);
        }
        for (const int id : sets_) {
            ASSERT_EQ(semctl(id, 0, IPC_STAT, &set), 0);
            set.sem_perm.gid = group;
            ASSERT_EQ(semctl(id, 0, IPC_SET, &set), 0);
        }
    }

    dada::Sync& sync() { return *sync_; }
    char& pending(std::uint64_t block) { return static_cast<char*>(static_cast<void*>(sync_ + 1))[block]; }
    std::byte* key_of(std::uint64_t block) {
        return static_cast<std::byte*>(static_cast<void*>(sync_ + 1)) + blocks_ + block * 4;
    }
    int ring_id() const { return shared_.front(); }
    int block_id(std::size_t i) const { return shared_.at(i + 1); }
    int connect() const { return connect_; }
    int reader(std::size_t i) const { return readers_.at(i); }
    int value(std::size_t reader, unsigned short semaphore) const {
        return semctl(readers_.at(reader), semaphore, GETVAL);
    }
    const std::byte* block(std::uint64_t i) const { return memory_.at(i % blocks_); }
    std::uint64_t bytes() const { return bytes_; }

  private:
    void* segment_of(std::uint32_t key, std::size_t bytes) {
        const int id = shmget(static_cast<key_t>(key), bytes, IPC_CREAT | IPC_EXCL | 0600);
        EXPECT_GE(id, 0) << std::strerror(errno);
        shared_.push_back(id);
        attached_.push_back(shmat(id, nullptr, 0));
        return attached_.back();
    }
    int set_of(std::uint32_t key, unsigned count) {
        const int id = semget(static_cast<key_t>(key), static_cast<int>(count), IPC_CREAT | IPC_EXCL | 0600);
        EXPECT_GE(id, 0) << std::strerror(errno);
        sets_.push_back(id);
        return id;
    }

    std::uint64_t blocks_;
    std::uint64_t bytes_;
    dada::Sync* sync_ = nullptr;
    int connect_ = -1;
    std::vector<int> readers_;
    std::vector<std::byte*> memory_;
    std::vector<int> shared_;
    std::vector<int> sets_;
    std::vector<void*> attached_;
};

/// Reads a ring as one of its readers.
class Reader {
  public:
    Reader(Ring& ring, std::size_t index = 0) : ring_(ring), index_(index) {}

    /// Returns whether a block waits.
    bool more() const { return ring_.value(index_, dada::kFull) > 0; }
    /// Reads one block. Sets `ended` at the end of a transfer.
    std::string block() {
        dada::Sync& sync = ring_.sync();
        change(ring_.reader(index_), dada::kFull, -1);
        const std::size_t books = transfer_ % dada::kTransfers;
        if (!std::exchange(in_transfer_, true)) {
            block_ = sync.start_block[books];
            change(ring_.reader(index_), dada::kStartAck, 1);
        }
        ended = sync.ended[books] != 0 && sync.end_block[books] == block_;
        const std::uint64_t bytes = ended ? sync.end_byte[books] : ring_.bytes();
        std::string text(static_cast<const char*>(static_cast<const void*>(ring_.block(block_))), bytes);
        change(ring_.reader(index_), dada::kClear, 1);
        block_++;
        if (ended) {
            in_transfer_ = false;
            transfer_++;
            change(ring_.reader(index_), dada::kEndAck, 1);
        }
        return text;
    }
    /// Reads all that waits, up to the end of a transfer.
    std::string all() {
        std::string text;
        for (ended = false; more() && !ended;)
            text += block();
        return text;
    }

    bool ended = false;

  private:
    Ring& ring_;
    std::size_t index_;
    std::uint64_t block_ = 0;
    std::uint64_t transfer_ = 0;
    bool in_transfer_ = false;
};

}  // namespace spead::sink::test
