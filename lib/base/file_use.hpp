// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <sys/types.h>

/// Records the files that this process reads and writes, so that none destroys another, however they are
/// spelled.
namespace spead {

/// Limits the links that are followed for a name, as the kernel does (path_resolution(7)).
inline constexpr unsigned kMostLinks = 40;

/// Identifies the file behind a name by its device and inode. If it does not exist yet, holds those of its
/// future directory, and its name there.
struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    std::string name{};  ///< empty: the file exists
    bool operator==(const FileIdentity&) const = default;
};
/// Returns the identity. Follows links, also to missing files. Never throws because of the files.
FileIdentity identity_of(const std::string& path);
inline bool same_file(const std::string& a, const std::string& b) {
    return a == b || identity_of(a) == identity_of(b);
}

/// Marks a file as used by this process. No other use of the same file may begin, unless both read, both
/// append, or one replaces a file that the other has read and may read again. Only regular files count. A use
/// ends with its object.
///
/// A use with a descriptor also keeps other processes of this program from writing the file, and detects
/// them. It uses locks that only a process with the right to write the file can hold (fcntl(2), open file
/// description locks). So a process that may only read the file hinders none. On file systems without locks
/// there is no such check.
///
/// Control code; any thread.
class FileUse {
  public:
    enum class Way : std::uint8_t {
        read,
        read_anew,  ///< was read as a whole, and may be read again
        write,
        append,
        replace  ///< replaced by another file of the same name, which is complete
    };

    /// Makes no use.
    FileUse() = default;
    /// Uses the file at `path`, which may not exist yet, or which another function opens. `user` names the
    /// user, as in "port p0 reads". Throws Error, with `where` in front, when another use of this process has
    /// it.
    FileUse(const std::string& path, Way way, const std::string& user, const std::string& where);
    /// Does the same for files that the user asks for at once; then a clash is a UsageError.
    static FileUse planned(const std::string& path, Way way, const std::string& user,
                           const std::string& where);
    /// Uses the open file behind `descriptor`, which must allow writing if `way` does. Throws Error likewise,
    /// and when another process writes it.
    FileUse(int descriptor, const std::string& path, Way way, const std::string& user,
            const std::string& where);
    FileUse(FileUse&& other) noexcept;
    FileUse& operator=(FileUse&& other) noexcept;
    ~FileUse();

    /// Returns whether no other process appended to the file when this use of an open file began. Of several
    /// that begin together, one at most is alone: the first, if they have turns (AppendTurn).
    bool alone() const noexcept { return alone_; }
    /// Notes that the descriptor is about to be closed, and the file must be left as it is.
    void closed() noexcept;

  private:
    struct Entry;
    struct Table;
    void enter(Entry entry, const std::string& where);
    void leave() noexcept;

    std::optional<std::list<Entry>::iterator> entry_;
    bool alone_ = false;
};

/// Lets appenders of one file begin one after the other, in this and other processes. So the first can mend
/// the file, while no other one appends. Appenders that have begun need no turn.
class AppendTurn {
  public:
    /// Waits for the turn, half a second at most: a user who may read the file can keep it from all.
    explicit AppendTurn(int descriptor);
    ~AppendTurn();
    AppendTurn(const AppendTurn&) = delete;
    AppendTurn& operator=(const AppendTurn&) = delete;

  private:
    int descriptor_;
};

}  // namespace spead
