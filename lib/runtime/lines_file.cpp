// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/lines_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace spead::runtime {

namespace {

/// Returns the mutex of all writers in this process that append to this file.
std::shared_ptr<std::mutex> mutex_of(const struct stat& file) {
    // Never destroyed: sinks may end while the process does.
    static std::mutex& all = *new std::mutex;
    static auto& known = *new std::map<std::pair<dev_t, ino_t>, std::weak_ptr<std::mutex>>;
    const std::lock_guard lock(all);
    std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<std::mutex>& weak = known[{file.st_dev, file.st_ino}];
    std::shared_ptr<std::mutex> mutex = weak.lock();
    if (!mutex)
        weak = mutex = std::make_shared<std::mutex>();
    return mutex;
}

/// Returns the offset of an unfinished last line in a file of `size` bytes; `size` when all lines are
/// complete.
off_t half_line(int file, off_t size) {
    std::array<char, 65536> bytes;
    for (off_t end = size; end > 0;) {
        const off_t begin = std::max(off_t{0}, end - static_cast<off_t>(bytes.size()));
        const ssize_t n = pread(file, bytes.data(), static_cast<std::size_t>(end - begin), begin);
        if (n != end - begin)
            return size;
        const std::string_view text(bytes.data(), static_cast<std::size_t>(n));
        if (const std::size_t at = text.rfind('\n'); at != std::string_view::npos)
            return begin + static_cast<off_t>(at) + 1;
        end = begin;
    }
    return 0;
}

}  // namespace

LinesFile::LinesFile(int directory, const std::string& name, const std::string& path, const std::string& user,
                     const std::string& where)
    : file_(openat(directory, name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                   0666)) {
    if (!file_ && errno == ELOOP)
        throw_error(path, "cannot write heaps here: it is a link; remove it, or use another directory");
    struct stat facts {};
    if (!file_ || fstat(file_.get(), &facts) != 0)
        throw_error(path, "cannot write heaps here: {}", std::strerror(errno));
    if (!S_ISREG(facts.st_mode))
        throw_error(path, "cannot write heaps here: it is not a regular file");
    // Until the half line is gone, nobody else may find out that this one is there, and append to it.
    const AppendTurn turn(file_.get());
    use_ = FileUse(file_.get(), path, FileUse::Way::append, user, where);
    mutex_ = mutex_of(facts);
    if (use_.alone())
        cut_half_line(path);
}

/// Cuts off a half line, if no other appender uses the file now.
void LinesFile::cut_half_line(const std::string& path) {
    struct stat facts {};
    if (fstat(file_.get(), &facts) != 0)
        return;
    const off_t whole = half_line(file_.get(), facts.st_size);
    if (whole == facts.st_size)
        return;
    if (ftruncate(file_.get(), whole) != 0)
        throw_error(path, "it ends in an incomplete line, which cannot be removed: {}", std::strerror(errno));
    log_warning(LogType::runtime,
                "{} ended in an incomplete line ({} bytes) of a killed run; the line was removed", path,
                facts.st_size - whole);
}

int LinesFile::append(std::string_view lines) {
    const std::lock_guard lock(*mutex_);
    std::size_t written = 0;
    int error = 0;
    while (written != lines.size() && error == 0) {
        const ssize_t n = ::write(file_.get(), lines.data() + written, lines.size() - written);
        if (n >= 0)
            written += static_cast<std::size_t>(n);
        else if (errno != EINTR)
            error = errno;
    }
    const std::string_view there = lines.substr(0, written);
    const std::size_t whole = there.rfind('\n') + 1;  // 0 if there is none
    if (whole != written) {
        // Another process may have appended meanwhile; then nothing can be cut off.
        struct stat facts {};
        const off_t end = lseek(file_.get(), 0, SEEK_CUR);
        if (fstat(file_.get(), &facts) == 0 && facts.st_size == end &&
            ftruncate(file_.get(), end - static_cast<off_t>(written - whole)) != 0)
            error = errno;
    }
    lines_ += static_cast<std::uint64_t>(std::count(there.begin(), there.end(), '\n'));
    return error;
}

}  // namespace spead::runtime
