// SPDX-License-Identifier: BSD-3-Clause
#include "observe/process_usage.hpp"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <dirent.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace spead::observe {

namespace {

std::string text_of(const char* path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<std::uint64_t> whole_number(std::string_view word) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size())
        return std::nullopt;
    return number;
}

/// Returns when the machine was started, in seconds since the epoch: the line "btime" of /proc/stat.
std::optional<std::uint64_t> machine_start() {
    std::ifstream file("/proc/stat");
    for (std::string line; std::getline(file, line);)
        if (constexpr std::string_view kKey = "btime "; line.starts_with(kKey))
            return whole_number(std::string_view(line).substr(kKey.size()));
    return std::nullopt;
}

/// Counts the open descriptors, without the one that counting takes.
std::optional<std::uint64_t> open_descriptors() {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"), closedir);
    if (directory == nullptr)
        return std::nullopt;
    std::uint64_t count = 0;
    while (const dirent* const entry = readdir(directory.get()))
        count += entry->d_name[0] != '.' ? 1 : 0;
    return count > 0 ? count - 1 : 0;
}

}  // namespace

std::optional<StatFields> parse_stat_fields(std::string_view text) {
    constexpr unsigned kLastField = 24;
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string_view::npos)
        return std::nullopt;
    text.remove_prefix(name_end + 1);
    StatFields fields;
    // The first field after the name is the third.
    for (unsigned field = 3; field <= kLastField; field++) {
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
        const std::string_view word = text.substr(0, text.find_first_of(" \n"));
        text.remove_prefix(word.size());
        std::uint64_t* const wanted = field == 20   ? &fields.threads
                                      : field == 22 ? &fields.start_ticks
                                      : field == 23 ? &fields.virtual_bytes
                                      : field == 24 ? &fields.resident_pages
                                                    : nullptr;
        if (wanted == nullptr)
            continue;
        const std::optional<std::uint64_t> number = whole_number(word);
        if (!number)
            return std::nullopt;
        *wanted = *number;
    }
    return fields;
}

ProcessUsage process_usage() {
    ProcessUsage usage;
    timespec cpu{};
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0)
        usage.cpu_s = static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) / 1e9;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        usage.most_descriptors = limit.rlim_cur;
    usage.descriptors = open_descriptors();
    if (const std::optional<StatFields> stat = parse_stat_fields(text_of("/proc/self/stat"))) {
        usage.threads = stat->threads;
        usage.virtual_bytes = stat->virtual_bytes;
        if (const long page = sysconf(_SC_PAGESIZE); page > 0)
            usage.resident_bytes = stat->resident_pages * static_cast<std::uint64_t>(page);
        const long ticks = sysconf(_SC_CLK_TCK);
        const std::optional<std::uint64_t> began = machine_start();
        if (began && ticks > 0)
            usage.start_s = static_cast<double>(*began) +
                            static_cast<double>(stat->start_ticks) / static_cast<double>(ticks);
    }
    return usage;
}

}  // namespace spead::observe
