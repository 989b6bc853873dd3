// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/huge_pages.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/units.hpp"

namespace spead::runtime {

namespace {

constexpr std::size_t kKiB = std::size_t{1} << 10;
constexpr std::size_t kPageMiB = std::size_t{1} << 20;
constexpr std::size_t kSmallPage = 2 * kPageMiB;
constexpr std::string_view kNodes = "/sys/devices/system/node";
constexpr std::string_view kAllPages = "/sys/kernel/mm/hugepages";

/// Returns how many pieces of `size` bytes hold `bytes`.
std::size_t count_of(std::size_t bytes, std::size_t size) {
    return (bytes + size - 1) / size;
}

/// Returns the number after a prefix, as in "node3" and "hugepages-2048kB".
std::optional<std::size_t> number_after(std::string_view prefix, std::string_view name) {
    std::size_t number = 0;
    if (!name.starts_with(prefix) ||
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number).ec != std::errc{})
        return std::nullopt;
    return number;
}

std::size_t count_in(const port::Sysfs& files, const std::string& path) {
    return static_cast<std::size_t>(std::max<std::int64_t>(files.number(path).value_or(0), 0));
}

/// Returns the value after `key` in a file of lines "Key: value".
std::string value_of(const port::Sysfs& files, std::string_view path, std::string_view key) {
    const std::string text = files.text(path).value_or("");
    const std::size_t at = text.find(key);
    if (at == std::string::npos)
        return {};
    const std::size_t first = text.find_first_not_of(" \t", at + key.size());
    return first == std::string::npos ? "" : text.substr(first, text.find('\n', first) - first);
}

/// Parses the kernel's lists ("0,2-3"); empty: unknown.
std::set<int> listed(const std::string& list) {
    std::set<int> all;
    for (std::size_t at = 0; at < list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        int first = 0;
        int last = 0;
        const char* const stop = list.data() + end;
        const auto [rest, error] = std::from_chars(list.data() + at, stop, first);
        if (error == std::errc{}) {
            last = first;
            if (rest != stop && *rest == '-')
                std::from_chars(rest + 1, stop, last);
            for (int i = first; i <= last && i < 1024; i++)
                all.insert(i);
        }
        at = end + 1;
    }
    return all;
}

/// Returns how many pages of a size the control groups of this process allow (hugetlb.2MB.max and .rsvd.max).
std::size_t left_by_groups(const port::Sysfs& files, std::size_t page) {
    const std::string size = page >= 1024 * kPageMiB ? fmt::format("{}GB", page / (1024 * kPageMiB))
                             : page >= kPageMiB      ? fmt::format("{}MB", page / kPageMiB)
                                                     : fmt::format("{}KB", page / kKiB);
    std::string group = value_of(files, "/proc/self/cgroup", "0::");
    std::size_t left = SIZE_MAX;
    for (;;) {
        for (const char* const kind : {"", ".rsvd"}) {
            const std::string stem = fmt::format("/sys/fs/cgroup{}/hugetlb.{}{}", group, size, kind);
            if (const auto limit = files.number(stem + ".max")) {
                const std::size_t used = count_in(files, stem + ".current");
                const std::size_t most = static_cast<std::size_t>(std::max<std::int64_t>(*limit, 0));
                left = std::min(left, (most - std::min(most, used)) / page);
            }
        }
        const std::size_t slash = group.rfind('/');
        if (slash == std::string::npos)
            return left;
        group.resize(slash);
    }
}

/// Takes `count` free pages of a size away, mostly from the nodes with the most.
void take(std::vector<HugePages>& pages, std::size_t page, std::size_t count) {
    while (count > 0) {
        HugePages* most = nullptr;
        for (HugePages& p : pages)
            if (p.page == page && p.free > 0 && (most == nullptr || p.free > most->free))
                most = &p;
        if (most == nullptr)
            return;
        const std::size_t taken = std::min(count, std::max<std::size_t>(most->free / 2, 1));
        most->free -= taken;
        count -= taken;
    }
}

/// Returns the command that reserves `missing` bytes more in small pages.
std::string command(const HugeMemory& have, int node, std::size_t missing) {
    std::size_t reserved = 0;
    for (const HugePages& p : have.pages)
        if (p.page == kSmallPage && (node < 0 || p.node == node))
            reserved += p.reserved;
    const std::size_t wanted = reserved + count_of(missing, kSmallPage);
    if (have.nodes > 1 && node >= 0)
        return fmt::format("echo {} > {}/node{}/hugepages/hugepages-2048kB/nr_hugepages", wanted, kNodes,
                           node);
    return have.small_default ? fmt::format("sysctl -w vm.nr_hugepages={}", wanted)
                              : fmt::format("echo {} > {}/hugepages-2048kB/nr_hugepages", wanted, kAllPages);
}

/// Assigns the memory to nodes. Memory without a node comes from the node with most left.
std::optional<std::map<int, std::size_t>> distributed(const HugeMemory& have, const EalMemory& need) {
    std::map<int, std::size_t> left;
    for (const HugePages& p : have.pages)
        left[p.node] += p.free * p.page;
    std::map<int, std::size_t> amounts;
    for (const auto& [node, bytes] : need)
        if (node >= 0) {
            if (left[node] < bytes)
                return std::nullopt;
            left[node] -= bytes;
            amounts[node] += bytes;
        }
    std::size_t rest = need.contains(-1) ? need.at(-1) : 0;
    while (rest > 0) {
        const auto most = std::max_element(left.begin(), left.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most == left.end() || most->second == 0)
            return std::nullopt;
        const std::size_t taken = std::min(rest, most->second);
        amounts[most->first] += taken;
        most->second -= taken;
        rest -= taken;
    }
    return amounts;
}

}  // namespace

std::size_t HugeMemory::free_bytes() const {
    return std::accumulate(pages.begin(), pages.end(), std::size_t{0},
                           [](std::size_t sum, const HugePages& p) { return sum + p.free * p.page; });
}

std::size_t HugeMemory::free_bytes(int node) const {
    std::size_t bytes = 0;
    for (const HugePages& p : pages)
        bytes += node < 0 || p.node == node ? p.free * p.page : 0;
    return bytes;
}

HugeMemory huge_memory(const port::Machine& machine) {
    const port::Sysfs& files = machine.files;
    HugeMemory memory;
    memory.longest_file = machine.longest_file();
    const std::string usual = value_of(files, "/proc/meminfo", "Hugepagesize:");
    memory.small_default = usual.empty() || usual.starts_with("2048 ");

    std::vector<std::pair<int, std::string>> directories;
    for (const std::string& name : files.list(kNodes))
        if (const auto node = number_after("node", name))
            directories.emplace_back(static_cast<int>(*node), fmt::format("{}/{}/hugepages", kNodes, name));
    // A kernel without NUMA has only the sum.
    if (directories.empty())
        directories.emplace_back(0, kAllPages);
    memory.nodes = directories.size();
    const std::set<int> allowed = listed(value_of(files, "/proc/self/status", "Mems_allowed_list:"));
    std::set<std::size_t> sizes;
    for (const auto& [node, directory] : directories)
        for (const std::string& name : files.list(directory))
            if (const auto kib = number_after("hugepages-", name)) {
                const std::string stem = fmt::format("{}/{}/", directory, name);
                const std::size_t reserved = count_in(files, stem + "nr_hugepages");
                const bool ours = allowed.empty() || allowed.contains(node);
                if (reserved > 0)
                    memory.pages.push_back(
                        {node, *kib * kKiB, reserved, ours ? count_in(files, stem + "free_hugepages") : 0});
                sizes.insert(*kib * kKiB);
            }
    std::sort(memory.pages.begin(), memory.pages.end(), [](const HugePages& a, const HugePages& b) {
        return std::pair(a.node, b.page) < std::pair(b.node, a.page);
    });
    for (const std::size_t page : sizes) {
        // Free pages that are reserved for another process which has not touched them yet.
        take(memory.pages, page,
             count_in(files, fmt::format("{}/hugepages-{}kB/resv_hugepages", kAllPages, page / kKiB)));
        std::size_t free = 0;
        for (const HugePages& p : memory.pages)
            free += p.page == page ? p.free : 0;
        take(memory.pages, page, free - std::min(free, left_by_groups(files, page)));
    }
    return memory;
}

std::string describe(const HugeMemory& memory) {
    std::vector<std::string> parts;
    for (const HugePages& p : memory.pages)
        parts.push_back(fmt::format("{} of {} of {}{}", p.free, p.reserved, human_size(p.page),
                                    memory.nodes > 1 ? fmt::format(" on node {}", p.node) : ""));
    return parts.empty() ? "none reserved" : fmt::format("{} free", fmt::join(parts, ", "));
}

std::size_t sum_of(const EalMemory& need) {
    return std::accumulate(need.begin(), need.end(), std::size_t{0},
                           [](std::size_t sum, const auto& part) { return sum + part.second; });
}

std::optional<HugeShortage> huge_shortage(const HugeMemory& have, const EalMemory& need) {
    const std::size_t bytes = sum_of(need);
    if (!distributed(have, need)) {
        // The node that lacks most is named, unless only all of them together lack memory.
        int node = -1;
        std::size_t missing = bytes - std::min(bytes, have.free_bytes());
        for (const auto& [on, part] : need)
            if (const std::size_t free = have.free_bytes(on);
                on >= 0 && part > free && part - free >= missing) {
                node = on;
                missing = part - free;
            }
        const std::string needed =
            fmt::format("{} of huge pages are needed", human_size(node >= 0 ? need.at(node) : bytes));
        const std::string reason = have.pages.empty() ? fmt::format("{}, and none are reserved", needed)
                                   : node >= 0 && have.nodes > 1
                                       ? fmt::format("{} on NUMA node {}, and {} are free there ({})", needed,
                                                     node, human_size(have.free_bytes(node)), describe(have))
                                       : fmt::format("{}, and {} are free ({})", needed,
                                                     human_size(have.free_bytes()), describe(have));
        return HugeShortage{reason, command(have, node, missing)};
    }
    std::size_t largest = kSmallPage;
    for (const HugePages& p : have.pages)
        largest = p.free > 0 ? std::max(largest, p.page) : largest;
    if (const std::size_t file = (count_of(bytes, largest) + 1) * largest; have.longest_file < file)
        return HugeShortage{
            fmt::format("{} of huge pages need files of up to {}, and this process may make files of {}",
                        human_size(bytes), human_size(file), human_size(have.longest_file)),
            "ulimit -f unlimited"};
    return std::nullopt;
}

MemoryChoice choose_memory(const HugeMemory& have, const EalMemory& need, bool card, bool user_amount) {
    MemoryChoice choice;
    const std::size_t bytes = sum_of(need);
    if (const auto shortage = huge_shortage(have, need)) {
        if (card)
            throw_error("memory", "a card needs huge pages: {}; run `{}`", shortage->reason,
                        shortage->command);
        if (!have.pages.empty())
            choice.remark = fmt::format("EAL's memory uses ordinary pages: {}; `{}` gives it huge pages",
                                        shortage->reason, shortage->command);
        choice.arguments = {"--no-huge"};
        if (!user_amount)
            choice.arguments.insert(choice.arguments.end(),
                                    {"-m", fmt::format("{}", count_of(bytes, kPageMiB))});
        return choice;
    }
    // One file for all pages, or a process would need a descriptor for each, and could share no more than
    // eight with its vhost-user peer. With a directory that cannot be, EAL leaves the mounted hugetlbfs
    // alone, where it would remove files of others, need to read the directory, and wait for a lock that
    // any user can hold.
    choice.huge = true;
    choice.arguments = {"--in-memory", "--single-file-segments", "--huge-dir=/dev/null/none"};
    if (!user_amount) {
        const std::map<int, std::size_t> amounts =
            distributed(have, need).value_or(std::map<int, std::size_t>{});
        std::vector<std::size_t> by_node;
        for (const auto& [node, amount] : amounts) {
            by_node.resize(static_cast<std::size_t>(node) + 1);
            by_node.back() = count_of(amount, kPageMiB);
        }
        choice.arguments.push_back(fmt::format("--socket-mem={}", fmt::join(by_node, ",")));
    }
    return choice;
}

}  // namespace spead::runtime
