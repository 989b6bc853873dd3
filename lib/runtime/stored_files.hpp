// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "base/file_descriptor.hpp"

/// Reads the files of sinks, which may be anyone's: each number is checked, and no name leads elsewhere.
namespace spead::runtime {

/// Says what is wrong with a line, or with the file that it names. The reader of the index adds the line.
struct IndexFault {
    std::string what;
};

/// Returns the number with this name. Throws IndexFault.
std::uint64_t index_number(const nlohmann::json& object, const char* name);
/// Returns the text with this name. Throws IndexFault.
std::string index_text(const nlohmann::json& object, const char* name);
/// Returns a name that leads nowhere but into the directory. Throws IndexFault.
std::string name_in_directory(std::string name);

/// Holds the directory of what a sink has written.
struct StoredPlace {
    /// Opens a directory, or that of a file. Throws Error.
    explicit StoredPlace(const std::string& from);

    std::string path;  ///< of the directory
    std::string only;  ///< name of the file that is meant; empty: all
    FileDescriptor directory;
};

/// Reads a sink's index, line by line. One thread at a time.
class IndexLines {
  public:
    /// Limits a line.
    static constexpr std::size_t kMostLine = std::size_t{4} << 20;

    /// Opens `name` there. Throws Error.
    IndexLines(const StoredPlace& place, const char* name);

    /// Reads the next line. Returns false at the end. Throws Error for a line without an end.
    bool next();
    /// Goes back to the beginning.
    void rewind() noexcept;

    const std::string& path() const noexcept { return path_; }
    const std::string& text() const noexcept { return text_; }  ///< of the last line
    std::uint64_t line() const noexcept { return line_; }       ///< its number, from 1

    /// Throws Error for a line.
    [[noreturn]] void fail(std::uint64_t line, const std::string& what) const;

  private:
    struct Close {
        void operator()(std::FILE* file) const noexcept { std::fclose(file); }
    };

    std::string path_;
    std::unique_ptr<std::FILE, Close> lines_;
    std::string text_;
    std::uint64_t line_ = 0;
};

/// Holds one file of a directory open, which must be a plain one.
class StoredFile {
  public:
    /// Opens it, unless it is open already. Throws IndexFault.
    void open(int directory, const std::string& name);
    /// Throws IndexFault if these bytes do not lie in the file. `what` names them.
    void check(const char* what, std::uint64_t offset, std::uint64_t bytes) const;
    /// Fills `to` from there. Throws IndexFault.
    void read(std::uint64_t offset, std::span<std::byte> to) const;

    std::uint64_t bytes() const noexcept { return bytes_; }

  private:
    std::string name_;
    FileDescriptor file_;
    std::uint64_t bytes_ = 0;
};

}  // namespace spead::runtime
