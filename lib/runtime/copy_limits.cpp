// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/copy_limits.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/core.h>

#include "memory/copy.hpp"

namespace spead::runtime {

namespace {

/// Limits the memory of the trial.
constexpr std::size_t kLeastTrial = std::size_t{16} << 20;
constexpr std::size_t kMostTrial = std::size_t{64} << 20;

/// Reads a size as /sys has it: "32768K".
std::size_t size_of(std::string_view text) {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{})
        return 0;
    const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
    return unit == "K" ? number << 10 : unit == "M" ? number << 20 : number;
}

std::size_t usual_if_unknown(std::size_t bytes) {
    return bytes == 0 ? kUsualCache : bytes;
}

}  // namespace

LastCache last_cache(const port::Sysfs& files, unsigned cpu) {
    const std::string all = fmt::format("/sys/devices/system/cpu/cpu{}/cache", cpu);
    LastCache last;
    std::int64_t highest = 0;
    for (const std::string& name : files.list(all)) {
        const std::string one = all + "/" + name;
        const std::int64_t level = files.number(one + "/level").value_or(0);
        if (level <= highest)
            continue;
        highest = level;
        last = {size_of(files.text(one + "/size").value_or("")), files.cpus(one + "/shared_cpu_list")};
    }
    return last;
}

std::size_t cache_share(const port::Sysfs& files, unsigned cpu, const std::vector<unsigned>& lcores) {
    const LastCache cache = last_cache(files, cpu);
    const auto sharing = std::count_if(lcores.begin(), lcores.end(),
                                       [&](unsigned other) { return cache.cpus.contains(other); });
    return usual_if_unknown(cache.bytes) / kHeapsPartOfCache /
           static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, sharing));
}

const memory::CopyTrial& copy_trial(const port::Sysfs& files) {
    static const memory::CopyTrial trial = memory::try_copies(
        std::clamp(2 * usual_if_unknown(last_cache(files, 0).bytes), kLeastTrial, kMostTrial),
        std::min(cache_share(files, 0, {0}), kMostTrial / 2));
    return trial;
}

memory::StoresRule stores_rule(const port::Sysfs& files, unsigned cpu, const std::vector<unsigned>& lcores) {
    const memory::CopyTrial& trial = copy_trial(files);
    if (!trial.streaming_pays())
        return memory::StoresRule();
    return memory::StoresRule(
        static_cast<std::size_t>(static_cast<double>(cache_share(files, cpu, lcores)) * trial.share));
}

std::string describe_copies(const port::Sysfs& files, unsigned cpu, const std::vector<unsigned>& lcores) {
    const memory::CopyTrial& trial = copy_trial(files);
    const char* const name = memory::payload_copies().name;
    if (trial.streaming == 0)
        return fmt::format("{}, always into the cache (there are no others, or no memory to try them)", name);
    const std::string measured =
        fmt::format("outside the cache, 4 KiB take {:.0f} ns that way and {:.0f} ns past it",
                    4 * trial.cached, 4 * trial.streaming);
    if (!trial.streaming_pays())
        return fmt::format("{}, always into the cache: {}", name, measured);
    return fmt::format("{}, into the cache while an lcore's heaps rotate through up to {:.1f} MiB: {}", name,
                       static_cast<double>(stores_rule(files, cpu, lcores).cached_up_to()) / (1 << 20),
                       measured);
}

}  // namespace spead::runtime
