// SPDX-License-Identifier: BSD-3-Clause
#include "app/option_set.hpp"

#include <charconv>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.hpp"
#include "sink/dada_ring.hpp"

namespace spead::app {

namespace {

std::string or_off(double value, bool off_word) {
    return value == 0 && off_word ? std::string("off") : duration_text(value);
}

std::uint64_t size_within(std::string_view text, config::Limits<std::uint64_t> limits,
                          const std::string& name) {
    const std::uint64_t size = parse_size(text, name);
    if (!limits.hold(size))
        throw_usage(name, "`{}` is out of range; give {} to {}", text, human_size(limits.min),
                    human_size(limits.max));
    return size;
}

std::vector<unsigned> parse_cpus(const std::string& text, const std::string& name) {
    const auto number = [&](std::string_view digits) {
        unsigned value = 0;
        const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error != std::errc{} || stop != digits.data() + digits.size() || !config::kCpu.hold(value))
            throw_usage(name, "`{}` in `{}` is not a CPU number from {} to {}; give a list such as 1,3-5",
                        digits, text, config::kCpu.min, config::kCpu.max);
        return value;
    };
    std::vector<unsigned> cpus;
    for (const std::string& part : split_list(text)) {
        const std::size_t dash = part.find('-');
        const unsigned first = number(std::string_view(part).substr(0, dash));
        const unsigned last =
            dash == std::string::npos ? first : number(std::string_view(part).substr(dash + 1));
        if (last < first)
            throw_usage(name, "the range `{}` in `{}` runs backwards; write {}-{}", part, text, last, first);
        for (unsigned cpu = first; cpu <= last; cpu++)
            cpus.push_back(cpu);
    }
    return cpus;
}

double parse_real(std::string_view given, config::Range range, const std::string& name) {
    double value = 0;
    const char* end = given.data() + given.size();
    const auto [stop, error] = std::from_chars(given.data(), end, value, std::chars_format::fixed);
    if (error != std::errc{} || stop != end ||
        !(value >= static_cast<double>(range.min) && value <= static_cast<double>(range.max)))
        throw_usage(name, "`{}` is not a number from {} to {}", given, range.min, range.max);
    return value;
}

double parse_time(const config::Key& key, const std::string& given, const std::string& name) {
    const double time = key.off_word && given == "off" ? 0 : parse_duration(given, name);
    if (!config::complaint(key, time).empty())
        throw_usage(name, "`{}` is out of range; give {}{}", given,
                    duration_text(static_cast<double>(key.range.min)),
                    key.off_word ? " or more, or off" : " or more");
    return time;
}

config::Value parse_value(const config::Key& key, const std::string& given, const std::string& name) {
    using config::KeyType;
    switch (key.field.type) {
        case KeyType::integer:
        case KeyType::cpu: {
            const std::int64_t number = parse_integer(given, key.range.min, key.range.max, name);
            if (key.range.min < 0)
                return number;
            return static_cast<std::uint64_t>(number);
        }
        case KeyType::size:
            return size_within(
                given, {static_cast<std::uint64_t>(key.range.min), static_cast<std::uint64_t>(key.range.max)},
                name);
        case KeyType::real:
            return parse_real(given, key.range, name);
        case KeyType::rate:
            return parse_rate(given, name);
        case KeyType::time:
            return parse_time(key, given, name);
        case KeyType::cpus:
            return parse_cpus(given, name);
        default:
            break;
    }
    if (given.empty())
        throw_usage(name, "the value is empty; give {}", config::accepted(key));
    if (key.check != nullptr)
        key.check(given, name);
    return given;
}

/// Returns the placeholder of the value in the help.
std::string type_word(const config::Key& key) {
    using config::KeyType;
    switch (key.field.type) {
        case KeyType::integer:
            return "N";
        case KeyType::size:
            return "SIZE";
        case KeyType::rate:
            return "RATE";
        case KeyType::time:
            return "TIME";
        case KeyType::real:
            return "X";
        case KeyType::cpu:
            return "CPU";
        case KeyType::cpus:
            return "CPUS";
        case KeyType::choice:
            return fmt::format("{}", fmt::join(key.field.choices, "|"));
        default:
            return std::string(key.word);
    }
}

/// Returns the value as it is typed: without the quotes and brackets of the file.
std::string typed_text(const config::Key& key, const config::Value& value) {
    std::string text = config::file_text(key, value);
    if (text.size() >= 2 && (text.front() == '"' || text.front() == '['))
        text = text.substr(1, text.size() - 2);
    return text;
}

}  // namespace

const config::Key& key_of(std::string_view path) {
    const std::size_t dot = path.find('.');
    const config::Key* key = config::find_key(path.substr(0, dot), path.substr(dot + 1));
    if (key == nullptr)
        throw_error(std::string(path), "the configuration has no such key");
    return *key;
}

void OptionSet::key(std::string_view path, config::Part part, const Besides& besides) {
    const config::Key& key = key_of(path);
    const std::string name(key.option);
    const std::string help = std::string(key.help) + besides.help;
    const auto set = [&key, part, then = besides.then, name](const config::Value& value) {
        key.field.set(part, value, [&name](std::string_view) -> const std::string& { return name; });
        if (then)
            then();
    };
    if (key.field.type == config::KeyType::flag) {
        app_.add_flag_callback(
                name, [set] { set(true); }, help)
            ->disable_flag_override();
        return;
    }
    const config::Value now = key.field.get(std::visit([](auto* p) { return config::ConstPart(p); }, part));
    add(name, type_word(key), besides.default_text.empty() ? typed_text(key, now) : besides.default_text,
        help, [set, &key, name](const std::string& given) { set(parse_value(key, given, name)); });
}

void OptionSet::add(const std::string& name, const std::string& type, const std::string& default_text,
                    const std::string& description, const std::function<void(const std::string&)>& parse) {
    const auto checked = [name, parse](const std::string& given) {
        // CLI11 takes the next word whatever it is; no value of ours begins like an option.
        if (given.starts_with("--"))
            throw_usage(name, "its value is missing; `{}` follows instead", given);
        parse(given);
    };
    app_.add_option_function<std::string>(name, checked, description)
        ->type_name(type)
        ->default_str(default_text);
}

void OptionSet::size(const std::string& name, std::uint64_t& out, config::Limits<std::uint64_t> limits,
                     const std::string& description) {
    add(name, "SIZE", size_text(out), description,
        [name, &out, limits](const std::string& given) { out = size_within(given, limits, name); });
}

void OptionSet::rate(const std::string& name, double& out, const std::string& description) {
    add(name, "RATE", rate_text(out), description,
        [name, &out](const std::string& given) { out = parse_rate(given, name); });
}

void OptionSet::duration(const std::string& name, double& out, bool off_word,
                         const std::string& description) {
    add(name, "TIME", or_off(out, off_word), description, [name, &out, off_word](const std::string& given) {
        out = off_word && given == "off" ? 0 : parse_duration(given, name);
    });
}

void OptionSet::real(const std::string& name, double& out, config::Limits<double> limits,
                     const std::string& description) {
    add(name, "X", fmt::format("{}", out), description, [name, &out, limits](const std::string& given) {
        double value = 0;
        const char* end = given.data() + given.size();
        const auto [stop, error] = std::from_chars(given.data(), end, value, std::chars_format::fixed);
        if (error != std::errc{} || stop != end || !limits.hold(value))
            throw_usage(name, "`{}` is not a number from {} to {}", given, limits.min, limits.max);
        out = value;
    });
}

void OptionSet::flag(const std::string& name, bool& out, const std::string& description) {
    app_.add_flag_callback(
            name, [&out] { out = true; }, description)
        ->disable_flag_override();
}

void OptionSet::text(const std::string& name, std::string& out, const std::string& type,
                     const std::string& description) {
    add(name, type, out, description, [name, &out](const std::string& given) {
        if (given.empty())
            throw_usage(name, "the value is empty");
        out = given;
    });
}

void OptionSet::cpu(const std::string& name, std::optional<unsigned>& out, const std::string& description) {
    add(name, "CPU", "", description, [name, &out](const std::string& given) {
        out = static_cast<unsigned>(parse_integer(given, config::kCpu.min, config::kCpu.max, name));
    });
}

void OptionSet::sink(const std::string& name, runtime::SinkPlan& out, const std::string& description) {
    add(name, "null|verify|file:DIR|raw:DIR|zarr:DIR|hdf5:DIR|dada[:KEY]",
        std::string(config::name_in(config::kSinkKinds, out.kind)), description,
        [name, &out](const std::string& given) {
            const std::size_t colon = std::min(given.find(':'), given.size());
            const std::string kind = given.substr(0, colon);
            if (kind == "file" || kind == "raw" || kind == "zarr" || kind == "hdf5") {
                const std::string directory = given.substr(std::min(colon + 1, given.size()));
                if (directory.empty())
                    throw_usage(name, "`{}` names no directory; write {}:DIR", given, kind);
                out.kind = config::choose(config::kSinkKinds, kind, name);
                out.directory = directory;
                return;
            }
            if (kind == "dada") {
                out.kind = runtime::SinkKind::dada;
                out.ring = given.substr(std::min(colon + 1, given.size()));
                sink::parse_dada_key(out.ring, name);
                return;
            }
            if (given != "null" && given != "verify")
                throw_usage(name,
                            "`{}` is not a sink; give null, verify, file:DIR, raw:DIR, zarr:DIR, hdf5:DIR or "
                            "dada:KEY",
                            given);
            out.kind = config::choose(config::kSinkKinds, given, name);
            out.directory.clear();
        });
}

void OptionSet::integers(const std::string& name, std::vector<std::uint32_t>& out,
                         config::Limits<std::uint32_t> limits, const std::string& description) {
    add(name, "N,...", fmt::format("{}", fmt::join(out, ",")), description,
        [name, &out, limits](const std::string& given) {
            out.clear();
            for (const std::string& part : split_list(given))
                out.push_back(static_cast<std::uint32_t>(parse_integer(part, limits.min, limits.max, name)));
        });
}

void OptionSet::sizes(const std::string& name, std::vector<std::uint64_t>& out,
                      config::Limits<std::uint64_t> limits, const std::string& zero_word,
                      const std::string& description) {
    std::vector<std::string> defaults;
    defaults.reserve(out.size());
    for (const std::uint64_t size : out)
        defaults.push_back(size == 0 && !zero_word.empty() ? zero_word : size_text(size));
    add(name, "SIZE,...", fmt::format("{}", fmt::join(defaults, ",")), description,
        [name, &out, limits, zero_word](const std::string& given) {
            out.clear();
            for (const std::string& part : split_list(given))
                out.push_back(!zero_word.empty() && part == zero_word ? 0 : size_within(part, limits, name));
        });
}

std::vector<std::string> split_list(std::string_view text) {
    std::vector<std::string> parts;
    for (;;) {
        const std::size_t comma = text.find(',');
        parts.emplace_back(text.substr(0, comma));
        if (comma == std::string_view::npos)
            return parts;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace spead::app
