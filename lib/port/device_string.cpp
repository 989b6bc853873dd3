// SPDX-License-Identifier: BSD-3-Clause
#include "port/device_string.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"

namespace spead::port {

DeviceString DeviceString::parse(std::string_view text, const std::string& where) {
    DeviceString device;
    device.where_ = where;
    constexpr std::string_view bus = "vdev:";
    std::string_view rest = text;
    if (rest.starts_with(bus)) {
        rest.remove_prefix(bus.size());
    }
    const auto comma = rest.find(',');
    device.name_ = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    if (device.name_.empty()) {
        throw_usage(where, "the device \"{}\" has no name; write for example net_ring0", text);
    }
    if (device.name_.size() > kMaxDeviceName) {
        throw_usage(where,
                    "the device name \"{}\" has {} characters, and EAL keeps at most {}; give a shorter name",
                    device.name_, device.name_.size(), kMaxDeviceName);
    }
    if (device.name_.find('=') != std::string::npos) {
        throw_usage(where, "the device \"{}\" starts with a parameter; put the device's name first", text);
    }
    while (!rest.empty()) {
        const auto end = rest.find(',');
        const std::string_view pair = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        if (pair.empty()) {
            continue;
        }
        const auto equals = pair.find('=');
        if (equals == std::string_view::npos || equals == 0 || equals + 1 == pair.size()) {
            throw_usage(
                where,
                "\"{}\" in the device \"{}\" is not key=value (a value, or a file name, cannot hold a comma)",
                pair, text);
        }
        device.parameters_.push_back(
            {std::string{pair.substr(0, equals)}, std::string{pair.substr(equals + 1)}});
    }
    return device;
}

bool DeviceString::has(std::string_view key) const {
    return find(key).has_value();
}

std::optional<std::string> DeviceString::find(std::string_view key) const {
    const auto it = std::ranges::find(parameters_, key, &Parameter::key);
    return it == parameters_.end() ? std::nullopt : std::optional{it->value};
}

std::vector<std::string> DeviceString::all(std::string_view key) const {
    std::vector<std::string> values;
    for (const auto& p : parameters_) {
        if (p.key == key) {
            values.push_back(p.value);
        }
    }
    return values;
}

std::optional<std::uint64_t> DeviceString::number(std::string_view key, std::uint64_t least,
                                                  std::uint64_t most) const {
    const auto text = find(key);
    if (!text) {
        return std::nullopt;
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc{} || end != text->data() + text->size() || value < least || value > most) {
        throw_usage(where_, "{}={} of {} is not a number from {} to {}", key, *text, name_, least, most);
    }
    return value;
}

void DeviceString::add(std::string_view key, std::string value) {
    parameters_.push_back({std::string{key}, std::move(value)});
}

void DeviceString::set(std::string_view key, std::string value) {
    std::erase_if(parameters_, [key](const Parameter& p) { return p.key == key; });
    add(key, std::move(value));
}

void DeviceString::check_keys(std::initializer_list<std::string_view> known,
                              std::initializer_list<std::string_view> repeatable) const {
    for (const auto& p : parameters_) {
        if (std::ranges::find(known, p.key) == known.end()) {
            throw_usage(where_, "{} has no parameter \"{}\"; it has {}", name_, p.key,
                        fmt::join(known, ", "));
        }
        if (all(p.key).size() > 1 && std::ranges::find(repeatable, p.key) == repeatable.end()) {
            throw_usage(where_, "{} is given {} times for {}; give it once", p.key, all(p.key).size(), name_);
        }
    }
}

std::string DeviceString::text() const {
    std::string text = name_;
    for (const auto& p : parameters_) {
        text += fmt::format(",{}={}", p.key, p.value);
    }
    return text;
}

}  // namespace spead::port
