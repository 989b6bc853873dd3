// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stored_files.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace spead::runtime {

namespace fs = std::filesystem;

std::uint64_t index_number(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_number_unsigned())
        throw IndexFault{fmt::format("`{}` is no number from 0", name)};
    return found->get<std::uint64_t>();
}

std::string index_text(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_string())
        throw IndexFault{fmt::format("`{}` is no text", name)};
    return found->get<std::string>();
}

std::string name_in_directory(std::string name) {
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos)
        throw IndexFault{fmt::format("`{}` is no name of a file in the directory", printable(name))};
    return name;
}

StoredPlace::StoredPlace(const std::string& from) {
    const fs::path given(from);
    std::error_code ignored;
    if (!fs::exists(given, ignored))
        throw_error(from,
                    "there is no such directory or file; give what --sink file:DIR or raw:DIR has written");
    if (!fs::is_directory(given, ignored))
        only = given.filename().string();
    path = only.empty() ? from : given.has_parent_path() ? given.parent_path().string() : ".";
    directory = FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory)
        throw_error(path, "cannot open this directory: {}", std::strerror(errno));
}

IndexLines::IndexLines(const StoredPlace& place, const char* name)
    : path_((fs::path(place.path) / name).string()) {
    FileDescriptor index(openat(place.directory.get(), name, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat facts {};
    if (!index || fstat(index.get(), &facts) != 0)
        throw_error(path_, "cannot read the index: {}; give what --sink file:DIR or raw:DIR has written",
                    std::strerror(errno));
    if (!S_ISREG(facts.st_mode))
        throw_error(path_, "cannot read the index: it is no file");
    lines_.reset(fdopen(index.get(), "r"));
    if (!lines_)
        throw_error(path_, "cannot read the index: {}", std::strerror(errno));
    static_cast<void>(index.release());
}

void IndexLines::fail(std::uint64_t line, const std::string& what) const {
    throw_error(fmt::format("{}:{}", path_, line), "{}; write the heaps anew, or remove the line", what);
}

void IndexLines::rewind() noexcept {
    std::rewind(lines_.get());
    line_ = 0;
}

bool IndexLines::next() {
    text_.clear();
    for (;;) {
        const int c = getc_unlocked(lines_.get());
        if (c == EOF && std::ferror(lines_.get()) != 0)
            throw_error(path_, "cannot read the index: {}", std::strerror(errno));
        if (c == EOF && text_.empty())
            return false;
        if (c == EOF)
            fail(line_ + 1, "the last line has no end: its sink was killed, or still writes");
        if (c == '\n')
            break;
        if (text_.size() == kMostLine)
            fail(line_ + 1, fmt::format("the line has more than {} bytes", kMostLine));
        text_ += static_cast<char>(c);
    }
    line_++;
    return true;
}

void StoredFile::open(int directory, const std::string& name) {
    if (name == name_)
        return;
    // A link could lead out of the directory, and a pipe never end.
    FileDescriptor file(openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat facts {};
    if (!file || fstat(file.get(), &facts) != 0)
        throw IndexFault{fmt::format("cannot read {}: {}", printable(name), std::strerror(errno))};
    if (!S_ISREG(facts.st_mode))
        throw IndexFault{fmt::format("{} is no file", printable(name))};
    file_ = std::move(file);
    bytes_ = static_cast<std::uint64_t>(facts.st_size);
    name_ = name;
}

void StoredFile::check(const char* what, std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset)
        throw IndexFault{fmt::format("the {} has bytes {} to {} of {}, and that has {}: it was cut", what,
                                     offset, offset + bytes, printable(name_), bytes_)};
}

void StoredFile::read(std::uint64_t offset, std::span<std::byte> to) const {
    while (!to.empty()) {
        const ssize_t n = pread(file_.get(), to.data(), to.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            throw IndexFault{fmt::format("cannot read the payload in {}: {}", printable(name_),
                                         n == 0 ? "it was cut" : std::strerror(errno))};
        to = to.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
}

}  // namespace spead::runtime
