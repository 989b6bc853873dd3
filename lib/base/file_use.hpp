// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <sys/types.h>

/// Which files this process reads and writes, so that none of them destroys another, however they are
/// spelled.
namespace spead {

/// Tells which file a name leads to: its device and inode. Where there is no file yet, those of the directory
/// that it would be made in, and its name there.
struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    std::string name{};  ///< empty: the file is there
    bool operator==(const FileIdentity&) const = default;
};
/// Follows links, also to files that are not there. Never throws for what it finds.
FileIdentity identity_of(const std::string& path);
inline bool same_file(const std::string& a, const std::string& b) {
    return a == b || identity_of(a) == identity_of(b);
}

/// A file that this process has in use: no other use of the same file may begin, unless both read, both
/// append, or one replaces what the other has read and may read anew. Only regular files count. A use ends
/// with its object.
///
/// A use with a descriptor also keeps other processes of this program from writing the file, and learns from
/// them, by locks that only a process with the right to write the file can hold (fcntl(2), open file
/// description locks). Whoever may only read the file hinders nobody. File systems without locks go without.
///
/// Control world; any thread.
class FileUse {
  public:
    enum class Way : std::uint8_t {
        read,
        read_anew,  ///< has been read, as a whole, and may be again
        write,
        append,
        replace  ///< by another file of the same name, which is whole
    };

    /// None.
    FileUse() = default;
    /// The file at `path`, which may not be there yet, or which somebody else opens. `user` says who uses it,
    /// as in "port p0 reads". Throws Error, with `where` in front, when another use of this process has it.
    FileUse(const std::string& path, Way way, const std::string& user, const std::string& where);
    /// The same for what the user asks for all at once; then a clash is a UsageError.
    static FileUse planned(const std::string& path, Way way, const std::string& user,
                           const std::string& where);
    /// The open file behind `descriptor`, which must allow writing if `way` does. Throws Error likewise, and
    /// when another process writes it.
    FileUse(int descriptor, const std::string& path, Way way, const std::string& user,
            const std::string& where);
    FileUse(FileUse&& other) noexcept;
    FileUse& operator=(FileUse&& other) noexcept;
    ~FileUse();

    /// Nobody else appended to the file when this use of an open file began.
    bool alone() const noexcept { return alone_; }
    /// The descriptor is about to be closed, and the file shall be left as it is nevertheless.
    void closed() noexcept;

  private:
    struct Entry;
    struct Table;
    void enter(Entry entry, const std::string& where);
    void leave() noexcept;

    std::optional<std::list<Entry>::iterator> entry_;
    bool alone_ = false;
};

}  // namespace spead
