// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "base/file_use.hpp"

namespace spead::runtime {

/// Appends whole lines to a file that appenders of this and other processes share.
///
/// Each append is one write(2) at the end of the file. Local file systems write it in one piece, so no
/// appender waits for another's lock, or for a process that has locked the file. If a killed process has left
/// a half line, the next appender that is alone with the file cuts it off.
///
/// One thread at a time; other objects may have the same file.
class LinesFile {
  public:
    /// Opens or makes `name` in the directory. `path` is for messages; `user` and `where` as for FileUse.
    /// Throws Error when it is no regular file, cannot be written, or another user writes all of it.
    LinesFile(int directory, const std::string& name, const std::string& path, const std::string& user,
              const std::string& where);

    /// Appends `lines`, each with its newline. Returns 0, or errno; then a partly written line is cut off
    /// again.
    int append(std::string_view lines);
    /// Returns the number of lines appended so far.
    std::uint64_t lines() const noexcept { return lines_; }

  private:
    void cut_half_line(const std::string& path);

    FileDescriptor file_;
    FileUse use_;
    std::shared_ptr<std::mutex> mutex_;  ///< of all objects of this process with the same file
    std::uint64_t lines_ = 0;
};

}  // namespace spead::runtime
