// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <memory>
#include <mutex>
#include <span>
#include <sstream>
#include <string>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "sink/raw_writer.hpp"

/// Gives a raw writer a directory, and remembers what it said.
namespace spead::sink::unit_test {

/// Makes a directory that goes away with the test; on request, of a file system of its own.
class RawDirectory {
  public:
    explicit RawDirectory(const char* file_system = nullptr, const char* options = "") {
        std::string name = (std::filesystem::temp_directory_path() / "spead-sink-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw Error("no temporary directory");
        path_ = name;
        if (file_system != nullptr) {
            mounted_ = ::mount(file_system, path_.c_str(), file_system, 0, options) == 0;
            why_not_ = mounted_ ? "" : std::strerror(errno);
        }
    }
    ~RawDirectory() {
        if (mounted_)
            ::umount(path_.c_str());
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    RawDirectory(const RawDirectory&) = delete;
    RawDirectory& operator=(const RawDirectory&) = delete;

    const std::string& path() const { return path_; }
    /// Returns why the file system could not be mounted; empty: it is, or none was asked for.
    const std::string& why_not() const { return why_not_; }
    std::shared_ptr<RawFile> open(const std::string& name) const {
        const std::string path = path_ + '/' + name;
        FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (!file)
            throw_error(path, "{}", std::strerror(errno));
        return std::make_shared<RawFile>(std::move(file), name);
    }
    std::string text(const std::string& name) const {
        std::ifstream file(path_ + '/' + name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// Returns a part of a file.
    std::string text(const std::string& name, std::size_t offset, std::size_t length) const {
        std::ifstream file(path_ + '/' + name, std::ios::binary);
        std::string part(length, '\0');
        file.seekg(static_cast<std::streamoff>(offset));
        file.read(part.data(), static_cast<std::streamsize>(length));
        part.resize(static_cast<std::size_t>(file.gcount()));
        return part;
    }
    bool has(const std::string& name) const { return std::filesystem::exists(path_ + '/' + name); }

  private:
    std::string path_;
    std::string why_not_;
    bool mounted_ = false;
};

/// Adds records to a writer, and knows what must be in its files.
class RawRig {
  public:
    explicit RawRig(const RawDirectory& directory, RawWriter::Options options = small())
        : directory_(directory), writer_(options, hooks()) {}

    /// Returns options with few, small blocks, which are written soon.
    static RawWriter::Options small() {
        RawWriter::Options options;
        options.block_bytes = 2 * kSector;
        options.blocks = 4;
        options.reserve = 16 * kSector;
        options.idle = std::chrono::milliseconds(1);
        return options;
    }

    RawWriter& writer() { return writer_; }
    /// Adds a record of so many bytes, in two parts.
    bool add(std::size_t length) {
        const std::size_t id = added_++;
        const std::string bytes = bytes_of(id, length);
        const auto all = std::as_bytes(std::span(bytes));
        const std::array parts{all.first(length / 3), all.subspan(length / 3)};
        return writer_.add(
            parts,
            [&](const RawFile* file, std::uint64_t offset) {
                return fmt::format("{} {} {} {}\n", id, file == nullptr ? "none" : file->name(), offset,
                                   length);
            },
            [this](bool written) { (written ? kept_ : lost_)++; });
    }
    /// Returns the bytes of a record.
    static std::string bytes_of(std::size_t id, std::size_t length) {
        std::string bytes(length, '\0');
        for (std::size_t i = 0; i < length; i++)
            bytes[i] = static_cast<char>(id * 31 + i * 7 + i / 251);
        return bytes;
    }

    std::size_t added() const { return added_; }
    std::size_t kept() const { return kept_; }
    std::size_t lost() const { return lost_; }
    int no_direct() const { return no_direct_; }
    std::string lines() const {
        const std::lock_guard lock(mutex_);
        return lines_;
    }
    std::vector<std::pair<std::string, int>> failures() const {
        const std::lock_guard lock(mutex_);
        return failures_;
    }
    /// Lets the index take no line after so many.
    void limit_lines(std::size_t lines) { room_ = lines; }

    /// Compares every record that has a line with the file. Returns their number.
    std::size_t check_lines() const {
        std::istringstream all(lines());
        std::size_t found = 0;
        std::string name;
        for (std::size_t id = 0, offset = 0, length = 0; all >> id >> name >> offset >> length; found++) {
            EXPECT_EQ(id, found) << "in their order";
            if (name != "none") {
                EXPECT_TRUE(directory_.text(name, offset, length) == bytes_of(id, length)) << id;
            }
        }
        return found;
    }

  private:
    RawWriter::Hooks hooks() {
        RawWriter::Hooks hooks;
        hooks.open = [this] { return directory_.open(fmt::format("f{}", ++files_)); };
        hooks.remove = [this](const RawFile& file) {
            std::filesystem::remove(directory_.path() + '/' + file.name());
        };
        hooks.append = [this](std::span<const RawWriter::Note> notes, std::uint64_t& written) {
            const std::lock_guard lock(mutex_);
            for (const RawWriter::Note& note : notes) {
                if (room_-- == 0)
                    return ENOSPC;
                lines_ += note.line;
                written++;
            }
            return 0;
        };
        hooks.failed = [this](const std::string& file, int error) {
            const std::lock_guard lock(mutex_);
            failures_.emplace_back(file, error);
        };
        hooks.no_direct = [this] { no_direct_++; };
        return hooks;
    }

    const RawDirectory& directory_;
    int files_ = 0;
    std::size_t added_ = 0;
    std::atomic<std::size_t> kept_{0};
    std::atomic<std::size_t> lost_{0};
    std::atomic<int> no_direct_{0};
    std::atomic<std::size_t> room_{SIZE_MAX};
    mutable std::mutex mutex_;
    std::string lines_;
    std::vector<std::pair<std::string, int>> failures_;
    RawWriter writer_;
};

/// Forbids io_uring to the calling thread, and those that it starts, as seccomp profiles of containers do.
inline bool forbid_uring() {
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{4, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace spead::sink::unit_test
