// SPDX-License-Identifier: BSD-3-Clause
#include "sink/raw_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "sink/block.hpp"

namespace spead::sink {

namespace {

/// Limits the writes in a row that a disk takes nothing of.
constexpr int kMostIdleWrites = 3;

}  // namespace

RawFile::RawFile(FileDescriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
    // Set afterwards: a file system that refuses it at open(2) has made the file by then.
    const int flags = fcntl(file_.get(), F_GETFL);
    direct_ = flags >= 0 && fcntl(file_.get(), F_SETFL, flags | O_DIRECT) == 0;
}

void RawFile::use_page_cache() noexcept {
    const int flags = fcntl(file_.get(), F_GETFL);
    if (flags >= 0)
        fcntl(file_.get(), F_SETFL, flags & ~O_DIRECT);
    direct_ = false;
}

void RawFile::reserve(std::uint64_t end, std::uint64_t step) noexcept {
    while (reserves_ && reserved_ < end) {
        // The size grows with it: writes behind the end of a file would wait for each other.
        reserves_ = step > 0 &&
                    fallocate(file_.get(), 0, static_cast<off_t>(reserved_), static_cast<off_t>(step)) == 0;
        if (reserves_)
            reserved_ += step;
        // Some file systems keep what they found, and other files have no room then.
        if (!reserves_ && ftruncate(file_.get(), static_cast<off_t>(reserved_)) != 0)
            return;
    }
}

int RawFile::write(std::span<const std::byte> bytes, std::uint64_t offset) noexcept {
    int idle = 0;
    while (!bytes.empty()) {
        const ssize_t n = pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EINVAL && direct()) {
            use_page_cache();
            continue;
        }
        if (n < 0)
            return errno;
        // The next write must start at a sector again.
        const std::size_t whole =
            direct() ? static_cast<std::size_t>(n) / kSector * kSector : static_cast<std::size_t>(n);
        if (whole == 0 && ++idle == kMostIdleWrites)
            return ENOSPC;
        bytes = bytes.subspan(whole);
        offset += whole;
    }
    return 0;
}

int RawFile::finish(std::uint64_t length) noexcept {
    int error = ftruncate(file_.get(), static_cast<off_t>(length)) == 0 ? 0 : errno;
    if (close(file_.release()) != 0 && error == 0)
        error = errno;
    return error;
}

}  // namespace spead::sink
