// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "memory/copy_trial.hpp"
#include "memory/stores_rule.hpp"
#include "port/sysfs.hpp"

/// Finds how much memory the heaps of an lcore may rotate through while copies go into the cache. Control
/// code.
namespace spead::runtime {

/// Holds a CPU's largest cache.
struct LastCache {
    std::size_t bytes = 0;    ///< 0: /sys does not say
    std::set<unsigned> cpus;  ///< that share it
};
LastCache last_cache(const port::Sysfs& files, unsigned cpu);

/// Holds the part of a cache that belongs to heaps: packets have another, and what reads the heaps the third.
constexpr std::size_t kHeapsPartOfCache = 3;
/// Stands for a cache that /sys does not tell of.
constexpr std::size_t kUsualCache = std::size_t{24} << 20;

/// Returns the cache of an lcore on `cpu` for heaps, by /sys. It shares its cache with those on `lcores`,
/// itself included.
std::size_t cache_share(const port::Sysfs& files, unsigned cpu, const std::vector<unsigned>& lcores);

/// Returns the rule for the copies of that lcore: its share, or the part of it that the trial left.
memory::StoresRule stores_rule(const port::Sysfs& files, unsigned cpu, const std::vector<unsigned>& lcores);

/// Makes the rule of an lcore on `cpu`; those on `lcores` copy payload now.
using MakeStoresRule = std::function<memory::StoresRule(unsigned cpu, const std::vector<unsigned>& lcores)>;

/// Returns what both kinds of stores take on this machine, measured once in a process, on the first call.
const memory::CopyTrial& copy_trial(const port::Sysfs& files);

/// Returns a line about both for users.
std::string describe_copies(const port::Sysfs& files, unsigned cpu, const std::vector<unsigned>& lcores);

}  // namespace spead::runtime
