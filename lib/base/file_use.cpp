// SPDX-License-Identifier: BSD-3-Clause
#include "base/file_use.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"

namespace spead {

namespace {

namespace fs = std::filesystem;

/// Holds the offset of appenders' locks. A writer of a whole file locks all of it. An appender locks one byte
/// beyond any file's end, a different one each.
constexpr off_t kFirstAppender = off_t{1} << 61;
constexpr off_t kAppenders = off_t{1} << 20;
/// Holds the offset of the byte that is locked by an appender that begins, beyond those of all appenders.
constexpr off_t kTurn = off_t{1} << 62;
constexpr std::chrono::milliseconds kTurnPatience{500};
constexpr std::chrono::milliseconds kBetweenTurns{1};

/// Locks bytes, unless another process has locked some of them or the file system has no locks. Returns
/// false, with errno set.
bool set_lock(int descriptor, off_t start, off_t length, short type = F_WRLCK) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = start;
    lock.l_len = length;
    return fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

/// Returns whether another open file that may be written has locked some of these bytes; 0: all from there
/// on.
bool is_locked_by_writer(int descriptor, off_t start, off_t length) {
    struct flock lock {};
    // A lock for reading is hindered by those for writing only.
    lock.l_type = F_RDLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = start;
    lock.l_len = length;
    return fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool reads(FileUse::Way way) {
    return way == FileUse::Way::read || way == FileUse::Way::read_anew;
}

/// Returns whether two uses of one file do not conflict.
bool agree(FileUse::Way one, FileUse::Way other) {
    using Way = FileUse::Way;
    return (reads(one) && reads(other)) || (one == Way::append && other == Way::append) ||
           (one == Way::read_anew && other == Way::replace) ||
           (one == Way::replace && other == Way::read_anew);
}

off_t next_appender() {
    static std::atomic<off_t> number{0};
    return kFirstAppender + getpid() * kAppenders + number.fetch_add(1) % kAppenders;
}

/// Returns whether there is no other appender. Throws Error when another process conflicts.
bool keep_others_out(int descriptor, const std::string& path, FileUse::Way way, const std::string& where) {
    const bool append = way == FileUse::Way::append;
    // The own lock comes first: of two that begin together, one at least finds the other.
    if (append)
        set_lock(descriptor, next_appender(), 1);
    else
        set_lock(descriptor, 0, 0);
    // A lock of one who may only read keeps the own lock from the file as well, and does not count.
    if (is_locked_by_writer(descriptor, 0, append ? kFirstAppender : 0))
        throw_error(where, "another process is writing {}; give another file, or end that process first",
                    path);
    return !is_locked_by_writer(descriptor, kFirstAppender, kTurn - kFirstAppender);
}

}  // namespace

FileIdentity identity_of(const std::string& path) {
    struct stat facts {};
    fs::path at(path);
    std::error_code error;
    for (unsigned links = 0; links < kMostLinks; links++) {
        if (stat(at.c_str(), &facts) == 0)
            return {facts.st_dev, facts.st_ino};
        if (!fs::is_symlink(fs::symlink_status(at, error)))
            break;
        const fs::path target = fs::read_symlink(at, error);
        at = target.is_absolute() ? target : at.parent_path() / target;
    }
    at = at.lexically_normal();
    const fs::path directory = at.has_parent_path() ? at.parent_path() : fs::path(".");
    if (stat(directory.c_str(), &facts) == 0)
        return {facts.st_dev, facts.st_ino, at.filename().string()};
    return {0, 0, fs::absolute(at, error).lexically_normal().string()};
}

struct FileUse::Entry {
    std::string path;
    Way way{};
    std::string user;
    std::optional<FileIdentity> known;  ///< of an open file
    bool open = false;                  ///< so `known` is certain

    bool is(const FileIdentity& other) const {
        if (open)
            return *known == other;
        return (!known || *known == other) && identity_of(path) == other;
    }
};

struct FileUse::Table {
    std::mutex mutex;
    std::list<Entry> entries;

    static Table& get() {
        // Never destroyed: files may be closed while the process ends.
        static Table& table = *new Table;
        return table;
    }
};

FileUse::FileUse(const std::string& path, Way way, const std::string& user, const std::string& where) {
    struct stat facts {};
    if (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode))
        return;
    enter({path, way, user, std::nullopt, false}, where);
}

FileUse::FileUse(int descriptor, const std::string& path, Way way, const std::string& user,
                 const std::string& where) {
    struct stat facts {};
    if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode))
        return;
    enter({path, way, user, FileIdentity{facts.st_dev, facts.st_ino}, true}, where);
    if (reads(way))
        return;
    try {
        alone_ = keep_others_out(descriptor, path, way, where);
    } catch (...) {
        leave();
        throw;
    }
}

FileUse FileUse::planned(const std::string& path, Way way, const std::string& user,
                         const std::string& where) try {
    return FileUse(path, way, user, where);
} catch (const Error& error) {
    throw UsageError(error.what());
}

void FileUse::enter(Entry entry, const std::string& where) {
    const FileIdentity identity = entry.known ? *entry.known : identity_of(entry.path);
    Table& table = Table::get();
    const std::lock_guard lock(table.mutex);
    for (const Entry& other : table.entries) {
        if (agree(other.way, entry.way) || !other.is(identity))
            continue;
        if (other.path == entry.path)
            throw_error(where, "{} is in use: {} it; give another file", entry.path, other.user);
        throw_error(where, "{} is the same file as {}, which {}; give another file", entry.path, other.path,
                    other.user);
    }
    entry_ = table.entries.insert(table.entries.end(), std::move(entry));
}

void FileUse::leave() noexcept {
    if (!entry_)
        return;
    Table& table = Table::get();
    const std::lock_guard lock(table.mutex);
    table.entries.erase(*entry_);
    entry_.reset();
}

FileUse::FileUse(FileUse&& other) noexcept
    : entry_(std::exchange(other.entry_, std::nullopt)), alone_(other.alone_) {}

FileUse& FileUse::operator=(FileUse&& other) noexcept {
    std::swap(entry_, other.entry_);
    std::swap(alone_, other.alone_);
    return *this;
}

FileUse::~FileUse() {
    leave();
}

void FileUse::closed() noexcept {
    if (!entry_)
        return;
    const std::lock_guard lock(Table::get().mutex);
    (*entry_)->open = false;
}

AppendTurn::AppendTurn(int descriptor) : descriptor_(descriptor) {
    const auto end = std::chrono::steady_clock::now() + kTurnPatience;
    // Any other error: the file system has no locks.
    while (!set_lock(descriptor, kTurn, 1) && (errno == EAGAIN || errno == EACCES) &&
           std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(kBetweenTurns);
}

AppendTurn::~AppendTurn() {
    set_lock(descriptor_, kTurn, 1, F_UNLCK);
}

}  // namespace spead
