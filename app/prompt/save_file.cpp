// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/save_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"

namespace spead::app {

namespace {

constexpr mode_t kMode = 0644;

/// A file beside the target that is gone unless it was put in its place.
class Draft {
  public:
    explicit Draft(const std::string& target) : name_(target + ".XXXXXX") {
        fd_ = mkostemp(name_.data(), O_CLOEXEC);
        if (fd_ < 0)
            throw_error(target, "cannot write here: {}", std::strerror(errno));
    }
    ~Draft() {
        if (fd_ >= 0)
            close(fd_);
        if (!placed_)
            unlink(name_.c_str());
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;

    bool write(std::string_view text) {
        while (!text.empty()) {
            const ssize_t written = ::write(fd_, text.data(), text.size());
            if (written < 0 && errno != EINTR)
                return false;
            if (written > 0)
                text.remove_prefix(static_cast<std::size_t>(written));
        }
        return fchmod(fd_, kMode) == 0 && fsync(fd_) == 0;
    }
    bool place(const std::string& target, bool replace) {
        placed_ = replace
                      ? std::rename(name_.c_str(), target.c_str()) == 0
                      : renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0;
        return placed_;
    }

  private:
    std::string name_;
    int fd_ = -1;
    bool placed_ = false;
};

}  // namespace

std::string file_from(const std::string& directory, const std::string& name) {
    if (name.empty() || name.front() == '/' || directory.empty())
        return name;
    return directory + (directory.back() == '/' ? "" : "/") + name;
}

void save_file(const std::string& path, std::string_view text, bool replace) {
    struct stat there {};
    const bool exists = stat(path.c_str(), &there) == 0;
    if (exists && !S_ISREG(there.st_mode))
        throw_error(path, "it is no file; give the name of one");
    if (exists && !replace)
        throw_error(path, "it is there already; give another name, or `force` behind it to replace it");
    Draft draft(path);
    if (!draft.write(text))
        throw_error(path, "cannot write it: {}", std::strerror(errno));
    if (!draft.place(path, replace)) {
        if (errno == EEXIST)
            throw_error(path, "it is there already; give another name, or `force` behind it to replace it");
        throw_error(path, "cannot write it: {}", std::strerror(errno));
    }
}

}  // namespace spead::app
