// SPDX-License-Identifier: BSD-3-Clause
#include "sink/dada_ring.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/open_output.hpp"

namespace spead::sink {

namespace {

constexpr std::uint32_t kDefaultKey = 0xdada;
/// Limits the pending transfers of a block: a writer that clocks data has two.
constexpr std::uint8_t kMostPending = 8;
constexpr short kMostSteps = 32767;

/// Returns errno of a segment that cannot be had, in words.
std::string segment_error(int error) {
    switch (error) {
        case ENOENT:
            return "there is none with this key; make the ring with dada_db, or give the key of another";
        case EACCES:
        case EPERM:
            return "this user may not read and write it; run as its owner, or let dada_db run as this user";
        default:
            return std::strerror(error);
    }
}

/// Returns errno of a semaphore that was there before, in words.
const char* semaphore_error(int error) {
    return error == EIDRM || error == EINVAL ? "its semaphores were removed" : std::strerror(error);
}

}  // namespace

std::uint32_t parse_dada_key(const std::string& text, const std::string& where) {
    if (text.empty())
        return kDefaultKey;
    std::uint32_t key = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, key, 16);
    // The headers are at the key behind it, and 0 is no key.
    if (error != std::errc{} || stop != end || key == 0 || key >= 0x7fffffff)
        throw_usage(where, "`{}` is no key of a ring; give hexadecimal digits from 1 to 7ffffffe, as dada",
                    text);
    return key;
}

DadaRing::Segment::Segment(std::int32_t key, std::size_t bytes, const std::string& name,
                           const std::string& what) {
    // Key 0 would make a new segment.
    const int id = key == IPC_PRIVATE ? -1 : shmget(key, 0, 0);
    if (key == IPC_PRIVATE)
        errno = ENOENT;
    shmid_ds facts{};
    if (id < 0 || shmctl(id, IPC_STAT, &facts) != 0)
        throw_error(name, "cannot use the shared memory of {} (key {:x}): {}", what,
                    static_cast<std::uint32_t>(key), segment_error(errno));
    const std::size_t there = facts.shm_segsz;
    if (bytes != 0 ? there != bytes : there < sizeof(dada::Sync))
        throw_error(
            name,
            "the shared memory of {} has {} bytes, and not {}{}: it is no ring of PSRDADA, or one of a "
            "version with another layout",
            what, there, bytes != 0 ? "" : "at least ", bytes != 0 ? bytes : sizeof(dada::Sync));
    void* const at = shmat(id, nullptr, 0);
    if (at == reinterpret_cast<void*>(-1))
        throw_error(name, "cannot attach the shared memory of {} (key {:x}): {}", what,
                    static_cast<std::uint32_t>(key), segment_error(errno));
    memory = {static_cast<std::byte*>(at), there};
    access = facts.shm_perm;
}

DadaRing::Segment::~Segment() {
    if (!memory.empty())
        shmdt(memory.data());
}

DadaRing::DadaRing(std::uint32_t key, std::string name) : name_(std::move(name)) {
    Segment& first = segments_.emplace_back(static_cast<std::int32_t>(key), 0, name_, "the ring");
    check_trust();
    sync_ = static_cast<dada::Sync*>(static_cast<void*>(first.memory.data()));
    const std::uint64_t blocks = dada::read_once(sync_->blocks);
    block_bytes_ = dada::read_once(sync_->block_bytes);
    if (blocks < 2 || blocks > dada::kMostBlocks || block_bytes_ == 0 || block_bytes_ > dada::kMostBlockBytes)
        throw_error(
            name_, "it says that it has {} blocks of {} bytes; a ring has 2 to {} blocks of at most {} bytes",
            blocks, block_bytes_, dada::kMostBlocks, dada::kMostBlockBytes);
    if (first.memory.size() != dada::segment_bytes(blocks))
        throw_error(name_,
                    "its shared memory has {} bytes, and a ring of {} blocks has {}: it is no ring of "
                    "PSRDADA, or one of a version with another layout",
                    first.memory.size(), blocks, dada::segment_bytes(blocks));
    if (const std::int32_t device = dada::read_once(sync_->device); device != -1)
        throw_error(name_, "its blocks are on GPU {}; make a ring in the host's memory (dada_db without -g)",
                    device);
    attach_readers(*sync_);
    shared_pending_ = first.memory.data() + sizeof(dada::Sync);
    const std::byte* const keys = shared_pending_ + blocks;
    for (std::uint64_t i = 0; i < blocks; i++) {
        std::int32_t block_key = 0;
        std::memcpy(&block_key, keys + i * sizeof block_key, sizeof block_key);
        const std::string what = fmt::format("block {}", i);
        check_owner(segments_.emplace_back(block_key, block_bytes_, name_, what).access, what);
        blocks_.push_back(segments_.back().memory);
    }
    pending_.resize(blocks);
}

DadaRing::~DadaRing() {
    unlock();
}

/// Refuses, as root, a ring of a user who may have made it to catch what root writes.
void DadaRing::check_trust() const {
    if (geteuid() != 0)
        return;
    for (const uid_t user : {access().uid, access().cuid})
        if (!is_trusted_user(user))
            throw_error(
                name_,
                "it belongs to user {}, and this process runs as root; run dada_db as root, or run this "
                "program as that user or with that user's sudo",
                user);
}

void DadaRing::check_owner(const ipc_perm& other, const std::string& what) const {
    const ipc_perm& ring = access();
    if (other.uid != ring.uid || other.cuid != ring.cuid || other.gid != ring.gid || other.cgid != ring.cgid)
        throw_error(name_,
                    "{} belongs to user {} and group {} (made by {} and {}), and the ring to {} and {} (made "
                    "by {} and {}): it is no part of this ring; make it anew (dada_db -d, then dada_db)",
                    what, other.uid, other.gid, other.cuid, other.cgid, ring.uid, ring.gid, ring.cuid,
                    ring.cgid);
    constexpr unsigned kMayWrite = 0222;
    if ((ring.mode & ~other.mode & kMayWrite) != 0)
        throw_error(name_,
                    "{} has mode {:o}, and the ring {:o}: users may write the ring and not that; make it "
                    "anew (dada_db -d, then dada_db)",
                    what, other.mode & 0777U, ring.mode & 0777U);
}

void DadaRing::attach_readers(const dada::Sync& sync) {
    const std::uint32_t readers = dada::read_once(sync.readers);
    if (readers == 0 || readers > dada::kMostReaders)
        throw_error(name_, "it says that it has {} readers; a ring has 1 to {}", readers, dada::kMostReaders);
    connect_ = semaphores(dada::read_once(sync.connect_key), dada::kConnectSemaphores, "the writer's lock");
    for (std::uint32_t i = 0; i < readers; i++)
        readers_.push_back(semaphores(dada::read_once(sync.reader_keys[i]), dada::kReaderSemaphores,
                                      fmt::format("reader {}", i)));
}

/// Returns the id of a set of semaphores.
int DadaRing::semaphores(std::int32_t key, unsigned least, const std::string& what) const {
    const int id = key == IPC_PRIVATE ? -1 : semget(key, 0, 0);
    if (key == IPC_PRIVATE)
        errno = ENOENT;
    union {
        int value;
        semid_ds* facts;
    } argument{};
    semid_ds facts{};
    argument.facts = &facts;
    if (id < 0 || semctl(id, 0, IPC_STAT, argument) < 0)
        throw_error(name_, "cannot use the semaphores of {} (key {:x}): {}", what,
                    static_cast<std::uint32_t>(key), segment_error(errno));
    check_owner(facts.sem_perm, what);
    if (facts.sem_nsems < least)
        throw_error(name_, "{} has {} semaphores instead of {}: it is no ring of PSRDADA", what,
                    facts.sem_nsems, least);
    // To ask for leave to change them, change nothing, and not the lock: it knows its last user.
    const auto last = static_cast<unsigned short>(least - 1);
    std::array<sembuf, 2> nothing{sembuf{last, 1, IPC_NOWAIT}, sembuf{last, -1, IPC_NOWAIT}};
    if (semop(id, nothing.data(), nothing.size()) != 0 && errno == EACCES)
        throw_error(name_, "cannot use the semaphores of {} (key {:x}): {}", what,
                    static_cast<std::uint32_t>(key), segment_error(errno));
    return id;
}

int DadaRing::value_of(int set, unsigned short semaphore) const {
    const int value = semctl(set, semaphore, GETVAL);
    if (value < 0)
        damaged(semaphore_error(errno));
    return value;
}

void DadaRing::damaged(const char* what) const {
    throw_error(name_,
                "it cannot be written any more: {}; make it anew (dada_db -d, then dada_db), then `stream "
                "stop` and `stream start` the stream",
                what);
}

/// Does all steps at once, or none. Returns false when they would wait longer; null: at all.
bool DadaRing::step(int set, std::initializer_list<Step> steps, const timespec* wait) {
    std::array<sembuf, 2> all{};
    std::size_t n = 0;
    for (const Step& s : steps)
        all[n++] = {s.semaphore, s.change, static_cast<short>(wait == nullptr ? IPC_NOWAIT : 0)};
    while (semtimedop(set, all.data(), n, wait) != 0) {
        if (errno == EAGAIN)
            return false;
        // A signal ends a wait early: the caller looks at the clock.
        if (errno == EINTR && wait != nullptr)
            return false;
        if (errno != EINTR)
            damaged(semaphore_error(errno));
    }
    return true;
}

bool DadaRing::take_of_all(unsigned short semaphore) {
    for (std::size_t i = 0; i < readers_.size(); i++) {
        if (step(readers_[i], {{semaphore, -1}}))
            continue;
        while (i-- > 0)
            step(readers_[i], {{semaphore, 1}});
        return false;
    }
    return true;
}

void DadaRing::give_to_all(unsigned short semaphore) {
    for (const int reader : readers_)
        step(reader, {{semaphore, 1}});
}

bool DadaRing::lock() {
    if (locked_)
        return true;
    sembuf take{dada::kWriter, -1, IPC_NOWAIT | SEM_UNDO};
    while (semop(connect_, &take, 1) != 0) {
        if (errno == EAGAIN)
            return false;
        if (errno != EINTR)
            damaged(semaphore_error(errno));
    }
    locked_ = true;
    writing_ = dada::read_once(sync_->state) == dada::kWriting;
    current_ = dada::read_once(sync_->current);
    transfer_ = dada::read_once(sync_->transfer);
    for (std::size_t i = 0; i < pending_.size(); i++) {
        pending_[i] = static_cast<std::uint8_t>(dada::read_once(shared_pending_[i]));
        if (pending_[i] > kMostPending) {
            unlock();
            damaged("a block has more pending transfers than a writer makes");
        }
    }
    // A writer that was killed may have begun blocks that it did not fill.
    dada::write_once(sync_->next, current_);
    return true;
}

bool DadaRing::lock_is_of_this_process() const noexcept {
    return semctl(connect_, dada::kWriter, GETPID) == getpid();
}

void DadaRing::unlock() noexcept {
    if (!std::exchange(locked_, false))
        return;
    sembuf give{dada::kWriter, 1, IPC_NOWAIT | SEM_UNDO};
    while (semop(connect_, &give, 1) != 0 && errno == EINTR) {
    }
}

bool DadaRing::wait(std::uint64_t blocks, Clock::time_point end) {
    std::uint64_t needed = 0;
    if (blocks > pending_.size())
        return false;
    for (std::uint64_t i = 0; i < blocks; i++)
        needed += pending_[(current_ + i) % pending_.size()];
    if (needed == 0)
        return true;
    if (needed > static_cast<std::uint64_t>(kMostSteps))
        return false;
    // Down and up again at once: it waits, and takes nothing.
    const auto down = static_cast<short>(-static_cast<int>(needed));
    const auto up = static_cast<short>(needed);
    for (const int reader : readers_) {
        while (!step(reader, {{dada::kClear, down}, {dada::kClear, up}})) {
            const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(end - Clock::now());
            if (left.count() <= 0)
                return false;
            const timespec longest{static_cast<time_t>(left.count() / 1'000'000'000),
                                   static_cast<long>(left.count() % 1'000'000'000)};
            if (step(reader, {{dada::kClear, down}, {dada::kClear, up}}, &longest))
                break;
        }
    }
    return true;
}

bool DadaRing::can_start() {
    return std::all_of(readers_.begin(), readers_.end(), [this](int reader) {
        // The last user of these books of a transfer must have left them.
        return value_of(reader, dada::kStartAck) > 0 && value_of(reader, dada::kEndAck) > 0;
    });
}

bool DadaRing::start() {
    if (!can_start() || !take_of_all(dada::kStartAck))
        return false;
    const std::size_t books = transfer_ % dada::kTransfers;
    dada::write_once(sync_->start_block[books], current_);
    dada::write_once(sync_->start_byte[books], std::uint64_t{0});
    dada::write_once(sync_->ended[books], char{0});
    dada::write_once(sync_->state, dada::kWriting);
    writing_ = true;
    return true;
}

std::span<std::byte> DadaRing::next_block() {
    const std::size_t index = current_ % pending_.size();
    while (pending_[index] > 0) {
        if (!take_of_all(dada::kClear))
            return {};
        pending_[index]--;
        dada::write_once(shared_pending_[index], std::byte{pending_[index]});
    }
    return blocks_[index];
}

/// Gives the current block to the readers.
void DadaRing::publish() {
    const std::size_t index = current_ % pending_.size();
    pending_[index]++;
    dada::write_once(shared_pending_[index], std::byte{pending_[index]});
    current_++;
    dada::write_once(sync_->next, current_);
    dada::write_once(sync_->current, current_);
    give_to_all(dada::kFull);
}

void DadaRing::filled() {
    publish();
}

bool DadaRing::end(std::uint64_t bytes) {
    if (!take_of_all(dada::kEndAck))
        return false;
    const std::size_t books = transfer_ % dada::kTransfers;
    dada::write_once(sync_->end_block[books], current_);
    dada::write_once(sync_->end_byte[books], bytes);
    dada::write_once(sync_->ended[books], char{1});
    transfer_++;
    dada::write_once(sync_->transfer, transfer_);
    dada::write_once(sync_->state, dada::kIdle);
    writing_ = false;
    publish();
    return true;
}

}  // namespace spead::sink
