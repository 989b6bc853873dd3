// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/thread_activity.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"

namespace spead::runtime {

namespace {

constexpr std::size_t kMostThreads = 4096;
constexpr std::size_t kMostNames = 3;
/// Names the field of the state in /proc/PID/stat, 3; the processor is field 39 (proc(5)).
constexpr std::size_t kStateField = 3;
constexpr std::size_t kCpuField = 39;
/// Limits the fraction of time below which a thread did not have its CPU.
constexpr double kHardly = 0.05;

template <typename T>
T number(std::string_view text) {
    T value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

struct Stat {
    std::string name;
    char state = '?';
    unsigned cpu = 0;
};

/// Parses the line. The name stands in parentheses and may contain any byte, parentheses included. Other
/// users choose theirs.
std::optional<Stat> parse_stat(const std::string& text) {
    const std::size_t open = text.find('(');
    const std::size_t close = text.rfind(')');
    if (open == std::string::npos || close == std::string::npos || close < open)
        return std::nullopt;
    Stat stat;
    stat.name = printable(std::string_view(text).substr(open + 1, close - open - 1));
    std::string_view rest = std::string_view(text).substr(close + 1);
    for (std::size_t field = kStateField; field <= kCpuField; field++) {
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
        const std::string_view word = rest.substr(0, rest.find(' '));
        if (word.empty())
            return std::nullopt;
        if (field == kStateField)
            stat.state = word.front();
        if (field == kCpuField)
            stat.cpu = number<unsigned>(word);
        rest.remove_prefix(word.size());
    }
    return stat;
}

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<ThreadFacts> thread_facts(const port::Sysfs& files, int thread) {
    const std::string directory = fmt::format("/proc/self/task/{}", thread);
    const auto text = files.text(directory + "/stat");
    const auto stat = text ? parse_stat(*text) : std::nullopt;
    if (!stat)
        return std::nullopt;
    ThreadFacts facts{stat->state, stat->cpu, 0, {}};
    if (const auto times = files.text(directory + "/schedstat"))
        facts.ran_ns = number<std::uint64_t>(*times);
    if (const auto function = files.text(directory + "/wchan"); function && *function != "0")
        facts.sleeps_in = *function;
    return facts;
}

std::vector<std::string> others_on(const port::Sysfs& files, unsigned cpu, int thread) {
    std::vector<std::string> names;
    std::size_t looked_at = 0;
    for (const std::string& process : files.list("/proc")) {
        if (!is_number(process))
            continue;
        for (const std::string& task : files.list(fmt::format("/proc/{}/task", process))) {
            if (names.size() == kMostNames || looked_at++ == kMostThreads)
                return names;
            if (number<int>(task) == thread)
                continue;
            const auto text = files.text(fmt::format("/proc/{}/task/{}/stat", process, task));
            const auto stat = text ? parse_stat(*text) : std::nullopt;
            if (stat && stat->state == 'R' && stat->cpu == cpu)
                names.push_back(fmt::format("{} (pid {})", stat->name, process));
        }
    }
    return names;
}

std::uint64_t involuntary_switches(const port::Sysfs& files) {
    constexpr std::string_view kField = "nonvoluntary_ctxt_switches:";
    std::uint64_t sum = 0;
    for (const std::string& task : files.list("/proc/self/task")) {
        const std::string text = files.text(fmt::format("/proc/self/task/{}/status", task)).value_or("");
        const std::size_t at = text.find(kField);
        if (at == std::string::npos)
            continue;
        const std::string_view rest = std::string_view(text).substr(at + kField.size());
        sum += number<std::uint64_t>(rest.substr(std::min(rest.find_first_not_of(" \t"), rest.size())));
    }
    return sum;
}

std::string activity(const ThreadFacts& before, const ThreadFacts& now, std::chrono::nanoseconds between,
                     const std::vector<std::string>& others) {
    switch (now.state) {
        case 'T':
        case 't':
            return "it is stopped, by a debugger or SIGSTOP";
        case 'R':
            break;
        default:
            return fmt::format("it sleeps in the kernel{}",
                               now.sleeps_in.empty() ? "" : fmt::format(" ({})", now.sleeps_in));
    }
    const auto ran = static_cast<double>(now.ran_ns - std::min(before.ran_ns, now.ran_ns));
    const double share = between.count() > 0 ? ran / static_cast<double>(between.count()) : 0;
    if (share >= kHardly || others.empty())
        return fmt::format("it runs on CPU {}, and does not return to its loop", now.cpu);
    return fmt::format("it waits for CPU {}, which {} {}", now.cpu, fmt::join(others, ", "),
                       others.size() == 1 ? "has" : "have");
}

}  // namespace spead::runtime
