// SPDX-License-Identifier: BSD-3-Clause
#include "base/open_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <linux/magic.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <climits>
#include <fmt/core.h>

#include "base/file_use.hpp"

namespace spead {

namespace {

using Facts = struct stat;

std::optional<std::vector<uid_t>>& users_instead() {
    // Never destroyed, as what asks for it.
    static auto& users = *new std::optional<std::vector<uid_t>>;
    return users;
}

/// Returns the user that ran the process through sudo.
std::optional<uid_t> invoking_user() {
    const char* const text = geteuid() == 0 ? secure_getenv("SUDO_UID") : nullptr;
    if (text == nullptr)
        return std::nullopt;
    const std::string_view digits(text);
    uid_t user = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), user);
    return error == std::errc{} && stop == digits.data() + digits.size() ? std::optional(user) : std::nullopt;
}

bool trusted(uid_t user) {
    if (const auto& instead = users_instead())
        return std::find(instead->begin(), instead->end(), user) != instead->end();
    return user == 0 || user == geteuid() || user == invoking_user();
}

/// Returns whether the user may be the machine's root. In a user namespace, all users outside it have one
/// number, also the machine's root, to which most directories belong.
bool is_root_outside(uid_t user) {
    static const uid_t outside = [] {
        std::ifstream map("/proc/self/uid_map");
        uid_t first = 0;
        uid_t onto = 0;
        uid_t count = 0;
        const bool all = !(map >> first >> onto >> count) || count == UINT_MAX;
        uid_t overflow = 65534;
        std::ifstream("/proc/sys/kernel/overflowuid") >> overflow;
        return all ? uid_t{0} : overflow;
    }();
    return outside != 0 && user == outside && !users_instead();
}

bool is_ours(const Facts& directory) {
    return trusted(directory.st_uid) || is_root_outside(directory.st_uid);
}

bool others_can_write(const Facts& directory) {
    return !is_ours(directory) || (directory.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

bool may_follow(const Facts& directory, const Facts& link) {
    if (!others_can_write(directory))
        return true;
    return is_ours(directory) && trusted(link.st_uid) &&
           ((directory.st_mode & S_IWOTH) == 0 || (directory.st_mode & S_ISVTX) != 0);
}

/// Returns why it may not be written; empty: it may.
std::string why_not(const Facts& directory, const Facts& file) {
    if (!others_can_write(directory) || S_ISDIR(file.st_mode))
        return {};
    if (!trusted(file.st_uid) && file.st_uid != directory.st_uid)
        return fmt::format(
            "it belongs to user {}, in a directory that others can write; remove it, or give another name",
            file.st_uid);
    const bool strangers = !is_ours(directory) || (directory.st_mode & S_IWOTH) != 0;
    if (strangers && S_ISREG(file.st_mode) && file.st_nlink > 1)
        return "it has a second hard link, in a directory that others can write; remove it, or give another "
               "name";
    return {};
}

std::deque<std::string> parts_of(std::string_view path) {
    std::deque<std::string> parts;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        if (const std::string_view part = path.substr(0, end); !part.empty() && part != ".")
            parts.emplace_back(part);
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return parts;
}

/// Follows a path to the directory in which its last part stands.
class Walk {
  public:
    /// Walks the path. `through_last`: follows the last part, too, if it is a link.
    Walk(const std::string& path, bool through_last) {
        if (path.empty()) {
            fail(ENOENT);
            return;
        }
        parts_ = parts_of(path);
        if (!enter(path.front() == '/' ? "/" : ".", AT_FDCWD))
            return;
        while (error_ == 0 && !parts_.empty() && step(through_last)) {
        }
    }

    const FileDescriptor& directory() const { return directory_; }
    FileDescriptor& directory() { return directory_; }
    const Facts& directory_facts() const { return facts_; }
    /// Returns the last part, which is no link to follow; empty: the path is that of directory().
    const std::string& name() const { return name_; }
    /// Returns whether it is a link of the kernel's, which only the kernel can follow.
    bool kernels_link() const { return kernels_link_; }
    int error() const { return error_; }
    const std::string& reason() const { return reason_; }

  private:
    bool fail(int error) {
        error_ = error;
        reason_ = std::strerror(error);
        return false;
    }

    bool enter(const std::string& part, int from, int flags = O_NOFOLLOW) {
        FileDescriptor next(openat(from, part.c_str(), flags | O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!next || fstat(next.get(), &facts_) != 0)
            return fail(errno);
        directory_ = std::move(next);
        return true;
    }

    bool in_proc() const {
        struct statfs system {};
        return fstatfs(directory_.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
    }

    /// Takes one step. Returns false when the walk is over.
    bool step(bool through_last) {
        const std::string part = parts_.front();
        parts_.pop_front();
        const bool last = parts_.empty() && part != "..";
        const FileDescriptor there(openat(directory_.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        Facts facts{};
        if (!there && last && errno == ENOENT) {
            name_ = part;
            return false;
        }
        if (!there || fstat(there.get(), &facts) != 0)
            return fail(errno);
        if (S_ISLNK(facts.st_mode) && (!last || through_last))
            return follow(part, there.get(), facts, last);
        if (last) {
            name_ = part;
            return false;
        }
        return enter(part, directory_.get());
    }

    bool follow(const std::string& part, int link, const Facts& facts, bool last) {
        if (in_proc()) {
            kernels_link_ = last;
            name_ = last ? part : std::string();
            return !last && enter(part, directory_.get(), 0);
        }
        if (!may_follow(facts_, facts)) {
            error_ = EPERM;
            reason_ = fmt::format(
                "its path leads through `{}`, a link of user {} in a directory that others can write; remove "
                "the link, or name its target",
                part, facts.st_uid);
            return false;
        }
        if (++links_ > kMostLinks)
            return fail(ELOOP);
        std::array<char, PATH_MAX> target{};
        const ssize_t length = readlinkat(link, "", target.data(), target.size());
        if (length <= 0)
            return fail(length < 0 ? errno : ENOENT);
        const std::string_view text(target.data(), static_cast<std::size_t>(length));
        std::deque<std::string> parts = parts_of(text);
        parts_.insert(parts_.begin(), parts.begin(), parts.end());
        return text.front() != '/' || enter("/", AT_FDCWD);
    }

    FileDescriptor directory_;
    Facts facts_{};
    std::deque<std::string> parts_;  ///< remaining
    std::string name_;
    unsigned links_ = 0;
    bool kernels_link_ = false;
    int error_ = 0;
    std::string reason_;
};

OpenedOutput refused(int error, std::string reason) {
    OpenedOutput out;
    out.error = error;
    out.reason = std::move(reason);
    return out;
}

OpenedOutput failed(int error) {
    return refused(error, std::strerror(error));
}

/// Returns why the present file must not be written; empty: it may, or it does not exist.
std::string why_not(const Walk& walk) {
    Facts facts{};
    if (walk.name().empty() || fstatat(walk.directory().get(), walk.name().c_str(), &facts,
                                       walk.kernels_link() ? 0 : AT_SYMLINK_NOFOLLOW) != 0)
        return {};
    return walk.kernels_link() ? std::string() : why_not(walk.directory_facts(), facts);
}

}  // namespace

bool is_trusted_user(uid_t user) {
    return trusted(user);
}

OpenedOutput open_output(const std::string& path, int flags, mode_t mode) {
    const Walk walk(path, true);
    if (walk.error() != 0)
        return refused(walk.error(), walk.reason());
    if (walk.name().empty() || path.back() == '/')
        return failed(EISDIR);
    // Before it is opened, which may make a pipe's reader believe that it has a writer.
    if (std::string reason = why_not(walk); !reason.empty())
        return refused(EPERM, std::move(reason));
    const int way = (flags & O_ACCMODE) == O_RDWR ? 0 : O_WRONLY;
    OpenedOutput out;
    out.file = FileDescriptor(
        openat(walk.directory().get(), walk.name().c_str(),
               flags | way | O_CREAT | O_CLOEXEC | (walk.kernels_link() ? 0 : O_NOFOLLOW), mode));
    if (!out.file)
        return failed(errno);
    Facts facts{};
    if (fstat(out.file.get(), &facts) != 0)
        return failed(errno);
    if (std::string reason = walk.kernels_link() ? std::string() : why_not(walk.directory_facts(), facts);
        !reason.empty())
        return refused(EPERM, std::move(reason));
    return out;
}

void remove_output(const std::string& path, int fd) noexcept {
    const Walk walk(path, true);
    Facts mine{};
    Facts there{};
    if (walk.error() == 0 && !walk.name().empty() && !walk.kernels_link() && fstat(fd, &mine) == 0 &&
        fstatat(walk.directory().get(), walk.name().c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
        mine.st_dev == there.st_dev && mine.st_ino == there.st_ino)
        unlinkat(walk.directory().get(), walk.name().c_str(), 0);
}

OpenedOutput open_output_directory(const std::string& path, bool make) {
    Walk walk(path, true);
    if (walk.error() != 0)
        return refused(walk.error(), walk.reason());
    OpenedOutput out;
    if (walk.name().empty()) {
        out.file = std::move(walk.directory());
        return out;
    }
    const int directory = walk.directory().get();
    if (make && mkdirat(directory, walk.name().c_str(), 0777) != 0 && errno != EEXIST)
        return failed(errno);
    const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (walk.kernels_link() ? 0 : O_NOFOLLOW);
    out.file = FileDescriptor(openat(directory, walk.name().c_str(), flags));
    return out.file ? std::move(out) : failed(errno);
}

std::string why_not_output(const std::string& path) {
    const Walk walk(path, true);
    return walk.error() == EPERM ? walk.reason() : walk.error() != 0 ? std::string() : why_not(walk);
}

OutputPlace find_output(const std::string& path) {
    Walk walk(path, false);
    OutputPlace place;
    if (walk.error() != 0) {
        place.directory = refused(walk.error(), walk.reason());
    } else if (walk.name().empty()) {
        place.directory = failed(EISDIR);
    } else {
        place.directory.file = std::move(walk.directory());
        place.name = walk.name();
    }
    return place;
}

TrustedUsersInstead::TrustedUsersInstead(std::vector<uid_t> users) {
    users_instead() = std::move(users);
}

TrustedUsersInstead::~TrustedUsersInstead() {
    users_instead().reset();
}

}  // namespace spead
