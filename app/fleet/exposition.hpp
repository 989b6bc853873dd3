// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Reads the metrics of a process of another host, in Prometheus' text format 0.0.4. The text may be
/// hostile. Pure.
namespace spead::app {

struct MetricSample {
    std::string name;
    std::map<std::string, std::string, std::less<>> labels;
    double value = 0;

    /// Returns the label's value; empty: there is none.
    std::string_view label(std::string_view of) const;
};

/// Holds the samples of one host by the name of their family.
using MetricSamples = std::multimap<std::string, MetricSample, std::less<>>;

/// Limits the samples of one host.
inline constexpr std::size_t kMostSamples = 100'000;

/// Returns the first kMostSamples samples that have one of `names`. Comments, and lines that are no samples,
/// are left out. Label values are made printable.
MetricSamples read_exposition(std::string_view text, std::span<const std::string_view> names);

}  // namespace spead::app
