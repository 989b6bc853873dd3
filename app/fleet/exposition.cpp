// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/exposition.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/printable.hpp"

namespace spead::app {

namespace {

/// Takes the parts of one line from its beginning on.
class Line {
  public:
    explicit Line(std::string_view text) : left_(text) {}

    std::string_view name() {
        const auto end = std::ranges::find_if(left_, [](char c) {
            return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                     c == ':');
        });
        return take(static_cast<std::size_t>(end - left_.begin()));
    }
    bool skip(char c) {
        if (left_.empty() || left_.front() != c)
            return false;
        left_.remove_prefix(1);
        return true;
    }
    /// Takes a value in quotes, in which a backslash protects quotes, itself and the n of a new line.
    std::optional<std::string> quoted() {
        if (!skip('"'))
            return std::nullopt;
        std::string value;
        while (!left_.empty()) {
            const char c = take(1).front();
            if (c == '"')
                return value;
            if (c == '\\' && !left_.empty()) {
                const char next = take(1).front();
                value += next == 'n' ? '\n' : next;
            } else {
                value += c;
            }
        }
        return std::nullopt;
    }
    std::optional<double> number() {
        while (skip(' ') || skip('+')) {
        }
        double value = 0;
        const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
        if (error != std::errc() || (end != left_.data() + left_.size() && *end != ' '))
            return std::nullopt;
        return value;
    }

  private:
    std::string_view take(std::size_t length) {
        const std::string_view part = left_.substr(0, length);
        left_.remove_prefix(length);
        return part;
    }

    std::string_view left_;
};

std::optional<MetricSample> sample_of(std::string_view text) {
    Line line(text);
    MetricSample sample;
    sample.name = line.name();
    if (sample.name.empty())
        return std::nullopt;
    if (line.skip('{'))
        while (!line.skip('}')) {
            std::string label(line.name());
            if (label.empty() || !line.skip('='))
                return std::nullopt;
            std::optional<std::string> value = line.quoted();
            if (!value)
                return std::nullopt;
            sample.labels.emplace(std::move(label), printable(*value));
            line.skip(',');
        }
    const std::optional<double> value = line.number();
    if (!value)
        return std::nullopt;
    sample.value = *value;
    return sample;
}

}  // namespace

std::string_view MetricSample::label(std::string_view of) const {
    const auto found = labels.find(of);
    return found == labels.end() ? std::string_view() : found->second;
}

MetricSamples read_exposition(std::string_view text, std::span<const std::string_view> names) {
    MetricSamples samples;
    while (!text.empty() && samples.size() < kMostSamples) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (std::ranges::find(names, Line(line).name()) == names.end())
            continue;
        if (std::optional<MetricSample> sample = sample_of(line))
            samples.emplace(sample->name, std::move(*sample));
    }
    return samples;
}

}  // namespace spead::app
