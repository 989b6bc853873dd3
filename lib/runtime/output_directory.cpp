// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/output_directory.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/open_output.hpp"

namespace spead::runtime {

namespace {

constexpr unsigned kMostSuffixes = 1000000;

/// Writes all bytes. Returns 0, or errno.
int write_all(int fd, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n >= 0)
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

FileDescriptor open_directory(const std::string& path, std::string_view what) {
    OpenedOutput directory = open_output_directory(path, true);
    if (!directory.file)
        throw_error(path, "cannot make this directory for {}: {}", what, directory.reason);
    if (faccessat(directory.file.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
        throw_error(path, "cannot write {} here: {}", what, std::strerror(errno));
    return std::move(directory.file);
}

}  // namespace

OutputDirectory::OutputDirectory(std::string path, std::string_view what)
    : path_(std::move(path)), directory_(open_directory(path_, what)) {}

OutputDirectory::Opened OutputDirectory::open_new(const std::string& name, std::string_view extension,
                                                  unsigned first) const {
    Opened opened;
    for (opened.suffix = first;; opened.suffix++) {
        opened.name = opened.suffix <= 1 ? fmt::format("{}{}", name, extension)
                                         : fmt::format("{}-{}{}", name, opened.suffix, extension);
        // O_EXCL follows no link.
        opened.file = FileDescriptor(
            openat(directory_.get(), opened.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (opened.file)
            return opened;
        if (errno != EEXIST || opened.suffix - first >= kMostSuffixes) {
            opened.error = errno;
            return opened;
        }
    }
}

void OutputDirectory::remove(const std::string& name) const noexcept {
    unlinkat(directory_.get(), name.c_str(), 0);
}

OutputDirectory::Written OutputDirectory::write_new(const std::string& name,
                                                    std::span<const std::span<const std::byte>> parts) const {
    Opened opened = open_new(name, ".bin");
    Written written{std::move(opened.name), opened.error};
    if (written.error != 0)
        return written;
    for (const std::span<const std::byte> part : parts)
        if (written.error == 0)
            written.error = write_all(opened.file.get(), part);
    if (close(opened.file.release()) != 0 && written.error == 0)
        written.error = errno;
    if (written.error != 0)
        remove(written.name);
    return written;
}

}  // namespace spead::runtime
