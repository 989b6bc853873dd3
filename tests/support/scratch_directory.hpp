// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace spead::test {

/// Makes a directory, and removes it with its contents on destruction.
class ScratchDirectory {
  public:
    explicit ScratchDirectory(const std::filesystem::path& in = std::filesystem::temp_directory_path()) {
        std::string name = (in / "spead-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no directory can be made in " + in.string());
        path_ = name;
    }
    ~ScratchDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::string file(const std::string& name) const { return (path_ / name).string(); }

    /// Returns a directory on a disk, or on a similar file system: a tmpfs does not read and write past its
    /// cache.
    static std::filesystem::path on_disk() {
        const std::filesystem::path usual = "/var/tmp";
        return ::access(usual.c_str(), W_OK | X_OK) == 0 ? usual : std::filesystem::temp_directory_path();
    }

  private:
    std::filesystem::path path_;
};

}  // namespace spead::test
