// SPDX-License-Identifier: BSD-3-Clause
#include "port/sysfs.hpp"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <unistd.h>

namespace spead::port {

namespace fs = std::filesystem;

fs::path Sysfs::at(std::string_view path) const {
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    return root_ / path;
}

bool Sysfs::exists(std::string_view path) const {
    std::error_code error;
    return fs::exists(at(path), error);
}

bool Sysfs::writable(std::string_view path) const {
    return ::access(at(path).c_str(), R_OK | W_OK) == 0;
}

std::optional<std::string> Sysfs::bytes(std::string_view path) const {
    // Not a stream: reading fails for many files that open (the speed of an interface that is down).
    const int fd = ::open(at(path).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return std::nullopt;
    }
    std::string text;
    char buffer[4096];
    ssize_t n = 0;
    while ((n = ::read(fd, buffer, sizeof buffer)) > 0) {
        text.append(buffer, static_cast<std::size_t>(n));
    }
    ::close(fd);
    return n < 0 ? std::nullopt : std::optional{std::move(text)};
}

std::optional<std::string> Sysfs::text(std::string_view path) const {
    const auto whole = bytes(path);
    if (!whole) {
        return std::nullopt;
    }
    const std::string& text = *whole;
    constexpr const char* blank = " \t\n";
    const auto first = text.find_first_not_of(blank);
    return first == std::string::npos ? std::string{}
                                      : text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::optional<std::int64_t> Sysfs::number(std::string_view path) const {
    const auto content = text(path);
    if (!content) {
        return std::nullopt;
    }
    std::string_view word = *content;
    word = word.substr(0, word.find_first_of(" \t\n"));
    const bool hex = word.starts_with("0x");
    word.remove_prefix(hex ? 2 : 0);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, hex ? 16 : 10);
    return error == std::errc{} && end == word.data() + word.size() ? std::optional{value} : std::nullopt;
}

std::set<unsigned> Sysfs::cpus(std::string_view path) const {
    constexpr unsigned kMost = 65536;
    std::set<unsigned> cpus;
    const std::string list = text(path).value_or("");
    const char* const end = list.data() + list.size();
    for (const char* at = list.data(); at < end;) {
        const char* const comma = std::find(at, end, ',');
        unsigned first = 0;
        auto read = std::from_chars(at, comma, first);
        unsigned last = first;
        if (read.ec == std::errc{} && read.ptr < comma && *read.ptr == '-')
            read = std::from_chars(read.ptr + 1, comma, last);
        if (read.ec == std::errc{} && read.ptr == comma && last < kMost)
            for (unsigned cpu = first; cpu <= last; cpu++)
                cpus.insert(cpu);
        at = comma == end ? end : comma + 1;
    }
    return cpus;
}

std::string Sysfs::link(std::string_view path) const {
    std::error_code error;
    const auto target = fs::read_symlink(at(path), error);
    return error ? std::string{} : target.filename().string();
}

std::vector<std::string> Sysfs::list(std::string_view path) const {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(at(path), error), end; !error && entry != end; entry.increment(error)) {
        names.push_back(entry->path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace spead::port
