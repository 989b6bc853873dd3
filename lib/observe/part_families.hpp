// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <prometheus/metric_family.h>
#include <string>
#include <vector>

#include "observe/time_histogram.hpp"

namespace spead::observe {

/// Makes the families of one kind of part (stream, sender, port), label by label. It refers to its arguments.
template <typename Part>
class PartFamilies {
  public:
    /// Takes the `label` whose values are the parts' names.
    PartFamilies(std::vector<prometheus::MetricFamily>& out, const std::vector<Part>& parts,
                 const char* label)
        : out_(out), parts_(parts), label_(label) {}

    template <typename Value>
    void counter(const char* name, const char* help, const Value& value) {
        prometheus::MetricFamily& family = begin(name, help, prometheus::MetricType::Counter);
        for (const Part& part : parts_)
            add(family, part).counter.value = static_cast<double>(value(part));
        end();
    }
    /// Adds one series per name.
    template <typename Names, typename Value>
    void counters(const char* name, const char* help, const char* label, const Names& names,
                  const Value& value) {
        prometheus::MetricFamily& family = begin(name, help, prometheus::MetricType::Counter);
        for (const Part& part : parts_)
            for (std::size_t i = 0; i < names.size(); i++) {
                if (names[i].empty())
                    continue;
                prometheus::ClientMetric& metric = add(family, part);
                metric.label.push_back({label, std::string(names[i])});
                metric.counter.value = static_cast<double>(value(part, i));
            }
        end();
    }
    /// Adds a gauge for the parts that have such a value.
    template <typename Value>
    void gauge(const char* name, const char* help, const Value& value) {
        prometheus::MetricFamily& family = begin(name, help, prometheus::MetricType::Gauge);
        for (const Part& part : parts_)
            if (const std::optional<double> v = value(part))
                add(family, part).gauge.value = *v;
        end();
    }

    template <typename Times>
    void histogram(const char* name, const char* help, const Times& times) {
        prometheus::MetricFamily& family = begin(name, help, prometheus::MetricType::Histogram);
        for (const Part& part : parts_)
            add(family, part).histogram = time_histogram(times(part));
        end();
    }

  private:
    prometheus::MetricFamily& begin(const char* name, const char* help, prometheus::MetricType type) {
        return out_.emplace_back(prometheus::MetricFamily{name, help, type, {}});
    }
    prometheus::ClientMetric& add(prometheus::MetricFamily& family, const Part& part) {
        prometheus::ClientMetric& metric = family.metric.emplace_back();
        metric.label.push_back({label_, part.name});
        return metric;
    }
    /// Removes a family without series: it would be a name without a number.
    void end() {
        if (out_.back().metric.empty())
            out_.pop_back();
    }

    std::vector<prometheus::MetricFamily>& out_;
    const std::vector<Part>& parts_;
    const char* label_;
};

}  // namespace spead::observe
