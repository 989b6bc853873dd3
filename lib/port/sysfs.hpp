// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace spead::port {

/// Reads the kernel's files (/sys, /proc, /dev) below a root directory: "/" of this machine, or a tree that a
/// test made. Paths are absolute ("/sys/class/net"). Control code. Every call reads again. Nothing throws;
/// unreadable files are absent.
class Sysfs {
  public:
    explicit Sysfs(std::filesystem::path root = "/") : root_(std::move(root)) {}

    bool exists(std::string_view path) const;
    /// Returns whether this process may open it for reading and writing.
    bool writable(std::string_view path) const;
    /// Returns the whole file; a device's configuration space, for example.
    std::optional<std::string> bytes(std::string_view path) const;
    /// Returns the whole file without white space at its ends.
    std::optional<std::string> text(std::string_view path) const;
    /// Returns the file's first word as a number; 0x means hexadecimal. Absent when it is none.
    std::optional<std::int64_t> number(std::string_view path) const;
    /// Returns the CPUs of a list as the kernel writes them: "2,4-7". What is none is left out.
    std::set<unsigned> cpus(std::string_view path) const;
    /// Returns the last part of a symbolic link's target; empty when there is no such link.
    std::string link(std::string_view path) const;
    /// Returns the names in a directory, sorted; empty when there is none.
    std::vector<std::string> list(std::string_view path) const;

  private:
    std::filesystem::path at(std::string_view path) const;

    std::filesystem::path root_;
};

}  // namespace spead::port
