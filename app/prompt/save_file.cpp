// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/save_file.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/file_use.hpp"
#include "base/open_output.hpp"
#include "base/run_within.hpp"

namespace spead::app {

namespace {

constexpr mode_t kMode = 0644;

/// Holds a file beside the target, which is removed unless it replaces the target.
class Draft {
  public:
    Draft(int directory, const std::string& target, const std::string& path) : directory_(directory) {
        // O_EXCL follows no link and takes no planted file.
        for (unsigned i = 0; !file_ && i < kTries; i++) {
            name_ = fmt::format("{}.{}-{}", target, getpid(), i);
            file_ = FileDescriptor(
                openat(directory, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
            if (!file_ && errno != EEXIST)
                break;
        }
        if (!file_)
            throw_error(path, "cannot write here: {}", std::strerror(errno));
    }
    ~Draft() {
        if (!placed_)
            unlinkat(directory_, name_.c_str(), 0);
    }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;

    bool write(std::string_view text) {
        while (!text.empty()) {
            const ssize_t written = ::write(file_.get(), text.data(), text.size());
            if (written < 0 && errno != EINTR)
                return false;
            if (written > 0)
                text.remove_prefix(static_cast<std::size_t>(written));
        }
        return fchmod(file_.get(), kMode) == 0 && fsync(file_.get()) == 0;
    }
    bool place(const std::string& target, bool replace) {
        placed_ = renameat2(directory_, name_.c_str(), directory_, target.c_str(),
                            replace ? 0 : RENAME_NOREPLACE) == 0;
        return placed_;
    }

  private:
    static constexpr unsigned kTries = 100;

    int directory_;
    std::string name_;
    FileDescriptor file_;
    bool placed_ = false;
};

/// Limits the threads that wait for file systems.
constexpr unsigned kMostSaves = 8;

/// Counts a file that is being saved, and lets it be given up until it is put in its place. So a save that
/// nobody waits for replaces no later one.
class Save {
  public:
    Save() { count()++; }
    ~Save() { count()--; }
    Save(const Save&) = delete;
    Save& operator=(const Save&) = delete;

    static std::atomic<unsigned>& count() {
        static std::atomic<unsigned> saves{0};
        return saves;
    }

    /// Returns false when the file is being put in its place: then it may still appear there.
    bool give_up() noexcept { return leave(State::given_up); }
    /// Returns false when it was given up.
    bool begin_to_place() noexcept { return leave(State::placing); }

  private:
    enum class State : std::uint8_t { writing, placing, given_up };

    bool leave(State next) noexcept {
        State now = State::writing;
        return state_.compare_exchange_strong(now, next);
    }

    std::atomic<State> state_{State::writing};
};

void write_whole(const std::string& path, std::string_view text, bool replace, Save& save) {
    struct stat there {};
    const bool exists = stat(path.c_str(), &there) == 0;
    if (exists && !S_ISREG(there.st_mode))
        throw_error(path, "it is not a regular file; give another name");
    if (exists && !replace)
        throw_error(path, "the file exists; give another name, or add `force` to replace it");
    const FileUse use(path, FileUse::Way::replace, "the saving of the configuration writes", {});
    const OutputPlace target = find_output(path);
    if (!target.directory.file)
        throw_error(path, "cannot write here: {}", target.directory.reason);
    Draft draft(target.directory.file.get(), target.name, path);
    if (!draft.write(text))
        throw_error(path, "cannot write it: {}", std::strerror(errno));
    if (!save.begin_to_place())
        return;
    if (!draft.place(target.name, replace)) {
        if (errno == EEXIST)
            throw_error(path, "the file exists; give another name, or add `force` to replace it");
        throw_error(path, "cannot write it: {}", std::strerror(errno));
    }
}

}  // namespace

std::string file_from(const std::string& directory, const std::string& name) {
    if (name.empty() || name.front() == '/' || directory.empty())
        return name;
    return directory + (directory.back() == '/' ? "" : "/") + name;
}

void save_file(const std::string& path, std::string_view text, bool replace,
               std::chrono::milliseconds patience) {
    const auto save = std::make_shared<Save>();
    if (Save::count() > kMostSaves)
        throw_error(path,
                    "{} files are being saved on file systems that do not answer; ask again when they do",
                    kMostSaves);
    if (run_within(patience, "save config", [path, text = std::string(text), replace, save] {
            write_whole(path, text, replace, *save);
        }))
        return;
    const std::string_view outcome = save->give_up() ? "nothing was saved; until it answers, a draft"
                                                     : "the file may still appear; a draft";
    throw_error(
        path,
        "the file system has not answered for {} s; {} {}.{}-N may stay beside it; give a name on another "
        "file system",
        std::chrono::duration<double>(patience).count(), outcome, path, getpid());
}

}  // namespace spead::app
