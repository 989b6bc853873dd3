// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spead::port {

/// The kernel's files (/sys, /proc, /dev) below a root directory: "/" of this machine, or a tree that a test
/// made. Paths are absolute ("/sys/class/net"). Control world; every call reads anew; nothing throws, what
/// cannot be read is absent.
class Sysfs {
  public:
    explicit Sysfs(std::filesystem::path root = "/") : root_(std::move(root)) {}

    bool exists(std::string_view path) const;
    /// May be opened for reading and writing by this process.
    bool writable(std::string_view path) const;
    /// The whole file; a device's configuration space, for example.
    std::optional<std::string> bytes(std::string_view path) const;
    /// The whole file without white space at its ends.
    std::optional<std::string> text(std::string_view path) const;
    /// The file's first word as a number; 0x means hexadecimal. Absent when it is none.
    std::optional<std::int64_t> number(std::string_view path) const;
    /// The last part of what a symbolic link points to; empty when there is no such link.
    std::string link(std::string_view path) const;
    /// Names in a directory, sorted; empty when there is none.
    std::vector<std::string> list(std::string_view path) const;

  private:
    std::filesystem::path at(std::string_view path) const;

    std::filesystem::path root_;
};

}  // namespace spead::port
