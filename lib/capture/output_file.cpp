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
#include "base/open_output.hpp"

namespace spead::capture {

void OutputFile::Free::operator()(std::byte* p) const noexcept {
    std::free(p);
}

OutputFile::OutputFile(const std::string& path, bool direct, const std::string& where)
    : path_(path), direct_(direct) {
    // A pipe without a reader must not hold the program up here.
    OpenedOutput opened = open_output(path, O_RDWR | O_NONBLOCK | (direct ? O_DIRECT : 0));
    if (!opened.file && direct && opened.error == EINVAL)
        throw_error(where,
                    "cannot write {} past the page cache: its file system has no direct I/O; leave out "
                    "--direct-io (`direct_io`), or use another disk",
                    path);
    if (!opened.file)
        throw_error(where, "cannot write the capture file {}: {}", path, opened.reason);
    struct stat facts {};
    if (::fstat(opened.file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
        throw_error(where, "cannot write the capture file {}: it is not a regular file", path);
    use_ = FileUse(opened.file.get(), path, FileUse::Way::write, fmt::format("the {} writes", where), where);
    if (::ftruncate(opened.file.get(), 0) != 0)
        throw_error(where, "cannot empty the capture file {}: {}", path, std::strerror(errno));
    if (direct) {
        stage_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, kStage)));
        if (!stage_)
            throw_error(where, "no memory for the blocks of {}", path);
    }
    fd_ = std::move(opened.file);
}

OutputFile::~OutputFile() {
    if (!close())
        close();
}

bool OutputFile::write(const std::byte* from, std::size_t length) {
    while (length != 0) {
        const ssize_t n = ::pwrite(fd_.get(), from, length, static_cast<off_t>(written_));
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
    ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) & ~O_DIRECT);
}

bool OutputFile::append(std::span<const std::byte> bytes) {
    if (!failure_.empty() || !fd_)
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
    if (::ftruncate(fd_.get(), static_cast<off_t>(std::min(length, written_))) == 0)
        size_ = written_ = std::min(length, written_);
}

bool OutputFile::close() {
    if (!fd_)
        return failure_.empty();
    if (failure_.empty() && staged_ != 0) {
        end_direct();
        const bool all = write(stage_.get(), staged_);
        staged_ = 0;
        if (!all)
            return false;
    }
    // A file system that writes late (NFS) says only here that it could not.
    use_.closed();
    if (::close(fd_.release()) != 0 && errno != EINTR && failure_.empty())
        failure_ = std::strerror(errno);
    return failure_.empty();
}

}  // namespace spead::capture
