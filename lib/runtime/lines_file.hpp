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

/// A file of lines to which several appenders of this process, and of others, add whole lines.
///
/// Each append is one write(2) at the end of the file: local file systems put it there in one piece, so no
/// appender waits for another's lock, or for anybody who has locked the file. A half line that a killed
/// process has left is cut off by the next appender that is alone with the file.
///
/// One thread at a time; other objects may have the same file.
class LinesFile {
  public:
    /// Opens or makes `name` in the directory. `path` is for messages; `user` and `where` as for FileUse.
    /// Throws Error when it is no regular file, cannot be written, or somebody writes all of it.
    LinesFile(int directory, const std::string& name, const std::string& path, const std::string& user,
              const std::string& where);

    /// Appends `lines`, each with its end. Returns 0, or errno; then the part of a line that was written is
    /// cut off again.
    int append(std::string_view lines);
    /// Lines appended so far.
    std::uint64_t lines() const noexcept { return lines_; }

  private:
    void cut_half_line(const std::string& path);

    FileDescriptor file_;
    FileUse use_;
    std::shared_ptr<std::mutex> mutex_;  ///< of all objects of this process with the same file
    std::uint64_t lines_ = 0;
};

}  // namespace spead::runtime
