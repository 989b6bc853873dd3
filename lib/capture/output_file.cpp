// SPDX-License-Identifier: BSD-3-Clause
#include "capture/output_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/error.hpp"

namespace spead::capture {

void OutputFile::Free::operator()(std::byte* p) const noexcept {
    std::free(p);
}

OutputFile::OutputFile(const std::string& path, bool direct, const std::string& where)
    : path_(path), direct_(direct) {
    // A pipe without a reader must not hold the program up here.
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | (direct ? O_DIRECT : 0);
    fd_ = ::open(path.c_str(), flags, 0666);
    if (fd_ < 0 && direct && errno == EINVAL)
        throw_error(where,
                    "cannot write {} past the page cache: its file system has no direct I/O; leave "
                    "out --direct-io (`direct_io`), or take another disk",
                    path);
    if (fd_ < 0)
        throw_error(where, "cannot write the capture file {}: {}", path, std::strerror(errno));
    struct stat facts {};
    if (::fstat(fd_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        ::close(fd_);
        throw_error(where, "cannot write the capture file {}: it is not a regular file", path);
    }
    if (::ftruncate(fd_, 0) != 0) {
        const int error = errno;
        ::close(fd_);
        throw_error(where, "cannot empty the capture file {}: {}", path, std::strerror(error));
    }
    if (direct) {
        stage_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, kStage)));
        if (!stage_) {
            ::close(fd_);
            throw_error(where, "no memory for the blocks of {}", path);
        }
    }
}

OutputFile::~OutputFile() {
    if (!close())
        close();
}

bool OutputFile::write(const std::byte* from, std::size_t length) {
    while (length != 0) {
        const ssize_t n = ::pwrite(fd_, from, length, static_cast<off_t>(written_));
        if (n < 0 && errno == EINTR)
            continue;
        // The room that is left is no whole block: the cache takes what fits.
        if (n < 0 && errno == EINVAL && direct_) {
            end_direct();
            continue;
        }
        if (n <= 0) {
            failure_ = std::strerror(n < 0 ? errno : ENOSPC);
            return false;
        }
        from += n;
        length -= static_cast<std::size_t>(n);
        written_ += static_cast<std::uint64_t>(n);
        // Direct writes must go on at a block; a short one means that the disk is full.
        if (direct_ && length != 0 && static_cast<std::size_t>(n) % kAlignment != 0)
            end_direct();
    }
    return true;
}

void OutputFile::end_direct() {
    direct_ = false;
    ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) & ~O_DIRECT);
}

bool OutputFile::append(std::span<const std::byte> bytes) {
    if (!failure_.empty() || fd_ < 0)
        return false;
    size_ += bytes.size();
    if (!stage_)
        return write(bytes.data(), bytes.size());
    while (!bytes.empty()) {
        const std::size_t n = std::min(bytes.size(), kStage - staged_);
        std::memcpy(stage_.get() + staged_, bytes.data(), n);
        staged_ += n;
        bytes = bytes.subspan(n);
        if (staged_ != kStage)
            continue;
        if (!write(stage_.get(), staged_))
            return false;
        staged_ = 0;
    }
    return true;
}

void OutputFile::cut(std::uint64_t length) {
    end_direct();
    staged_ = 0;
    if (::ftruncate(fd_, static_cast<off_t>(std::min(length, written_))) == 0)
        size_ = written_ = std::min(length, written_);
}

bool OutputFile::close() {
    if (fd_ < 0)
        return failure_.empty();
    if (failure_.empty() && staged_ != 0) {
        end_direct();
        const bool all = write(stage_.get(), staged_);
        staged_ = 0;
        if (!all)
            return false;
    }
    // A file system that writes late (NFS) says only here that it could not.
    if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR && failure_.empty())
        failure_ = std::strerror(errno);
    return failure_.empty();
}

}  // namespace spead::capture
