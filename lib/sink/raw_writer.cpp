// SPDX-License-Identifier: BSD-3-Clause
#include "sink/raw_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/start_thread.hpp"

namespace spead::sink {

namespace {

constexpr std::chrono::milliseconds kWait{100};

std::byte* aligned_memory(std::size_t bytes) {
    void* const memory = std::aligned_alloc(kSector, bytes);
    if (memory == nullptr)
        throw_error("raw sink", "no memory for {} bytes of blocks; raise the limit of the process", bytes);
    return static_cast<std::byte*>(memory);
}

}  // namespace

RawWriter::RawWriter(const Options& options, Hooks hooks)
    : options_(options),
      hooks_(std::move(hooks)),
      memory_(aligned_memory(options.blocks * options.block_bytes), std::free),
      blocks_(options.blocks) {
    for (std::size_t i = 0; i < blocks_.size(); i++) {
        blocks_[i].memory = {memory_.get() + i * options.block_bytes, options.block_bytes};
        blocks_[i].index = i;
        free_.push_back(&blocks_[i]);
    }
    MadeOutput made = make_output(options.way, blocks_);
    output_ = std::move(made.output);
    why_pwrite_ = std::move(made.why_pwrite);
}

RawWriter::~RawWriter() {
    finish();
}

RawWriter::Written RawWriter::written() const {
    const std::lock_guard lock(mutex_);
    return written_;
}

// The thread that adds.

std::size_t RawWriter::room() const {
    const std::lock_guard lock(mutex_);
    const std::size_t begun = filling_ != nullptr ? filling_->memory.size() - filling_->used : 0;
    return begun + free_.size() * options_.block_bytes;
}

bool RawWriter::add(std::span<const std::span<const std::byte>> parts, const MakeLine& line,
                    const Settled& settled) {
    // Here, so that it runs on the CPUs of the thread that adds.
    if (!thread_.joinable())
        thread_ = start_thread("raw sink", [this] { run(); });
    Record record;
    for (const auto part : parts)
        record.bytes += part.size();
    bool taken = record.bytes == 0 || open_file(record.bytes);
    if (record.bytes > 0)
        record.note.file = file_;
    record.note.line = line(record.note.file.get(), file_bytes_);
    record.settled = settled;
    taken = taken && wait_for_room(record.note.line.size());
    for (const auto part : parts)
        taken = taken && copy(part);
    record.note.end = file_bytes_;
    Lock lock(mutex_);
    if (taken && !failed_) {
        record.block = filling_ != nullptr ? filling_->number : next_number_ - 1;
        line_bytes_ += record.note.line.size();
        records_.push_back(std::move(record));
        return true;
    }
    lock.unlock();
    settled(false);
    return false;
}

/// Opens a file if there is none, or the one there is would become too long. Returns false after a failure.
bool RawWriter::open_file(std::size_t bytes) {
    const bool rotates =
        options_.file_per_record || (options_.rotate_size > 0 && file_bytes_ + bytes > options_.rotate_size);
    if (file_ && !rotates)
        return true;
    {
        const Lock lock(mutex_);
        if (filling_ != nullptr)
            hand_over(*std::exchange(filling_, nullptr));
        carried_ = 0;
        if (failed_)
            return false;
    }
    file_.reset();
    file_ = hooks_.open();
    file_bytes_ = 0;
    const Lock lock(mutex_);
    files_.push_back(file_);
    return !failed_;
}

/// Waits until a line has room among those that wait. Returns false after a failure.
bool RawWriter::wait_for_room(std::size_t line) {
    Lock lock(mutex_);
    while (!failed_ && line_bytes_ > 0 && line_bytes_ + line > options_.most_line_bytes) {
        urgent_ = true;
        work_.notify_one();
        room_.wait_for(lock, kWait);
    }
    return !failed_;
}

/// Copies bytes into blocks. Returns false after a failure.
bool RawWriter::copy(std::span<const std::byte> part) {
    while (!part.empty()) {
        Block* block = nullptr;
        {
            Lock lock(mutex_);
            block = std::exchange(filling_, nullptr);
            if (block == nullptr)
                block = begin_block(lock);
        }
        if (block == nullptr)
            return false;
        const std::size_t n = std::min(part.size(), block->memory.size() - block->used);
        std::memcpy(block->memory.data() + block->used, part.data(), n);
        part = part.subspan(n);
        const Lock lock(mutex_);
        block->used += n;
        file_bytes_ += n;
        if (block->full())
            hand_over(*block);
        else
            filling_ = block;
    }
    return true;
}

/// Waits for a free block, and puts it behind the last one. Returns null after a failure.
Block* RawWriter::begin_block(Lock& lock) {
    while (free_.empty() && !failed_)
        room_.wait_for(lock, kWait);
    if (failed_)
        return nullptr;
    Block& block = *free_.back();
    free_.pop_back();
    block.file = file_;
    block.number = next_number_++;
    block.offset = file_bytes_ - carried_;
    block.used = block.carried = std::exchange(carried_, 0);
    block.done = false;
    block.error = 0;
    std::memcpy(block.memory.data(), carry_.data(), block.carried);
    return &block;
}

/// Gives a block to the writer, full or not.
void RawWriter::hand_over(Block& block) {
    std::memset(block.memory.data() + block.used, 0, block.bytes().size() - block.used);
    waiting_.push_back(&block);
    work_.notify_one();
}

void RawWriter::settle() {
    Lock lock(mutex_);
    while (!records_.empty() || settling_) {
        urgent_ = true;
        work_.notify_one();
        room_.wait_for(lock, kWait);
    }
}

int RawWriter::finish() {
    {
        const Lock lock(mutex_);
        ending_ = true;
        work_.notify_one();
    }
    if (thread_.joinable())
        thread_.join();
    return finish_error_;
}

// The writer's thread.

void RawWriter::run() noexcept {
    Lock lock(mutex_);
    for (;;) {
        try {
            write_all(lock);
            lock.unlock();
            finish_files(nullptr);
            return;
        } catch (const std::exception&) {
            // Only memory can be lacking.
            if (!lock.owns_lock())
                lock.lock();
            fail(lock, {}, ENOMEM);
        }
    }
}

void RawWriter::write_all(Lock& lock) {
    for (bool timed_out = false;;) {
        if (!failed_) {
            submit_waiting(lock);
            const Failure failure = take_done();
            // Records before it are kept.
            settle_done(lock);
            if (failure.error != 0)
                fail(lock, failure.file, failure.error);
        }
        if (failed_) {
            lose_rest(lock);
        } else if (!under_way_.empty()) {
            lock.unlock();
            output_->wait();
            lock.lock();
            continue;
        } else if (const bool idle = std::exchange(timed_out, false);
                   !waiting_.empty() || look_at_idle(idle)) {
            continue;
        } else if (idle && hooks_.idle) {
            lock.unlock();
            const int error = hooks_.idle();
            lock.lock();
            if (error != 0)
                fail(lock, {}, error);
        }
        // Records may have come while lines were appended.
        if (ending_ && records_.empty())
            return;
        if (ending_)
            continue;
        timed_out = work_.wait_for(lock, options_.idle) == std::cv_status::timeout;
    }
}

/// Hands over the block that is not full, if its bytes have waited long enough. Returns whether it did.
bool RawWriter::look_at_idle(bool timed_out) {
    if (filling_ == nullptr) {
        urgent_ = urgent_ && !records_.empty();
        return false;
    }
    if (!timed_out && !urgent_ && !ending_)
        return false;
    Block& block = *std::exchange(filling_, nullptr);
    carried_ = block.used % kSector;
    std::memcpy(carry_.data(), block.memory.data() + block.used - carried_, carried_);
    hand_over(block);
    return true;
}

/// Submits what may be under way at the same time: a block that repeats bytes of the one before it comes
/// after that one.
void RawWriter::submit_waiting(Lock& lock) {
    const std::uint64_t step =
        options_.rotate_size == 0
            ? options_.reserve
            : std::min<std::uint64_t>(options_.reserve, whole_sectors(options_.rotate_size));
    while (!waiting_.empty() && (waiting_.front()->carried == 0 || under_way_.empty())) {
        Block& block = *waiting_.front();
        waiting_.pop_front();
        under_way_.push_back(&block);
        lock.unlock();
        block.file->reserve(block.offset + block.bytes().size(), step);
        output_->submit(block);
        lock.lock();
    }
}

/// Takes the blocks that are done, up to the first that failed. Returns its file and error.
RawWriter::Failure RawWriter::take_done() {
    Failure failure;
    while (!under_way_.empty() && under_way_.front()->done && failure.error == 0) {
        Block& block = *under_way_.front();
        under_way_.pop_front();
        if (block.error != 0)
            failure = {block.file->name(), block.error};
        else if (!failed_)
            done_number_ = block.number;
        give_back(block);
    }
    return failure;
}

void RawWriter::give_back(Block& block) {
    block.file.reset();
    free_.push_back(&block);
    room_.notify_all();
}

void RawWriter::settle_done(Lock& lock) {
    while (!records_.empty() && records_.front().block <= done_number_) {
        line_bytes_ -= records_.front().note.line.size();
        batch_.push_back(std::move(records_.front()));
        records_.pop_front();
    }
    if (batch_.empty() || failed_)
        return;
    settling_ = true;
    lock.unlock();
    append_lines();
    lock.lock();
    settling_ = false;
    room_.notify_all();
}

/// Appends the lines of the batch, and settles its records.
void RawWriter::append_lines() {
    std::vector<Note> notes;
    for (Record& record : batch_)
        notes.push_back({record.note.file, record.note.end, std::move(record.note.line)});
    std::uint64_t written = 0;
    const int error = hooks_.append(notes, written);
    while (!batch_.empty() && written > 0) {
        written--;
        settle_front(true);
    }
    if (error != 0) {
        Lock lock(mutex_);
        fail(lock, {}, error);
    }
    while (!batch_.empty())
        settle_front(false);
}

/// Settles the first record of the batch.
void RawWriter::settle_front(bool written) {
    const Record record = std::move(batch_.front());
    batch_.pop_front();
    if (written) {
        if (const std::shared_ptr<RawFile>& file = record.note.file) {
            finish_files(file.get());
            end_ = record.note.end;
            if (!file->direct() && !std::exchange(told_no_direct_, true))
                hooks_.no_direct();
        }
        const Lock lock(mutex_);
        written_.lines++;
        written_.records += record.note.file ? 1 : 0;
        written_.bytes += record.bytes;
    }
    record.settled(written);
}

/// Loses all that is not written, after a failure.
void RawWriter::lose_rest(Lock& lock) {
    for (Block* const block : waiting_)
        give_back(*block);
    waiting_.clear();
    if (filling_ != nullptr)
        give_back(*std::exchange(filling_, nullptr));
    while (!under_way_.empty()) {
        if (!under_way_.front()->done) {
            lock.unlock();
            output_->wait();
            lock.lock();
        }
        take_done();
    }
    std::move(records_.begin(), records_.end(), std::back_inserter(batch_));
    records_.clear();
    line_bytes_ = 0;
    settling_ = true;
    lock.unlock();
    while (!batch_.empty())
        settle_front(false);
    finish_files(nullptr);
    lock.lock();
    settling_ = false;
    room_.notify_all();
}

/// Ends the files before this one; null: all.
void RawWriter::finish_files(const RawFile* until) {
    for (;;) {
        std::shared_ptr<RawFile> file;
        {
            const Lock lock(mutex_);
            if (files_.empty() || files_.front().get() == until)
                return;
            file = std::move(files_.front());
            files_.pop_front();
        }
        const std::uint64_t length = std::exchange(end_, 0);
        const int error = file->finish(length);
        if (length == 0)
            hooks_.remove(*file);
        if (finish_error_ == 0)
            finish_error_ = error;
    }
}

/// Tells the first error. Called with the lock.
void RawWriter::fail(Lock& lock, const std::string& file, int error) {
    if (std::exchange(failed_, true))
        return;
    lock.unlock();
    hooks_.failed(file, error);
    lock.lock();
    room_.notify_all();
}

}  // namespace spead::sink
