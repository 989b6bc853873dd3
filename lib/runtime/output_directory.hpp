// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/file_descriptor.hpp"

namespace spead::runtime {

/// Holds a directory to which a sink writes files, each once. One thread at a time.
class OutputDirectory {
  public:
    /// Makes the directory; its parent must exist. `what` names the content in errors: "heaps". Throws Error
    /// when it cannot be made or written, or when others could place a link on its path
    /// (base/open_output.hpp).
    OutputDirectory(std::string path, std::string_view what);

    const std::string& path() const noexcept { return path_; }
    int descriptor() const noexcept { return directory_.get(); }

    struct Opened {
        FileDescriptor file;
        std::string name;
        int error = 0;        ///< errno; then there is no file
        unsigned suffix = 1;  ///< 1: the name has none
    };
    /// Makes the new file NAME + EXTENSION; if that exists, the first free one of NAME-2 + EXTENSION, NAME-3
    /// + EXTENSION, ... `first`: the suffix to begin with. Follows no link.
    Opened open_new(const std::string& name, std::string_view extension, unsigned first = 1) const;
    /// Removes a file, if it is there.
    void remove(const std::string& name) const noexcept;

    struct Written {
        std::string name;  ///< of the file
        int error = 0;     ///< errno; then the file was removed again
    };
    /// Writes the parts, one after another, to the new file NAME.bin; if that exists, to the first free one
    /// of NAME-2.bin, NAME-3.bin, ... Follows no link.
    Written write_new(const std::string& name, std::span<const std::span<const std::byte>> parts) const;

  private:
    std::string path_;
    FileDescriptor directory_;
};

}  // namespace spead::runtime
