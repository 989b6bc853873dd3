// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/units.hpp"
#include "config/keys.hpp"
#include "config/limits.hpp"
#include "config/names.hpp"

namespace CLI {
class App;
}

namespace spead::app {

/// Holds the properties of an option beyond its key's.
struct Besides {
    std::string help{};            ///< follows the key's sentence
    std::string default_text{};    ///< if it differs from the value of the part
    std::function<void()> then{};  ///< runs after each given value
};

/// Adds options to one command: each with its unit, range and default, the default shown in the help. Values
/// are checked when the command line is parsed; errors are UsageError naming the option. `out` must outlive
/// the parse.
class OptionSet {
  public:
    explicit OptionSet(CLI::App& app) : app_(app) {}

    /// Adds the option of a key ("receive.heaps.queue_depth"), which has one. Spelling, type, range, choices
    /// and help are the key's, and the default is the value in `part`.
    void key(std::string_view path, config::Part part, const Besides& besides = {});

    template <typename T>
    void integer(const std::string& name, T& out, config::Limits<T> limits, const std::string& description) {
        add(name, "N", fmt::format("{}", out), description, [name, &out, limits](const std::string& text) {
            out = static_cast<T>(parse_integer(text, static_cast<std::int64_t>(limits.min),
                                               static_cast<std::int64_t>(limits.max), name));
        });
    }
    void size(const std::string& name, std::uint64_t& out, config::Limits<std::uint64_t> limits,
              const std::string& description);
    void rate(const std::string& name, double& out, const std::string& description);
    /// Adds a duration. "off" is accepted if 0 means off, and is then the default in the help.
    void duration(const std::string& name, double& out, bool off_word, const std::string& description);
    void real(const std::string& name, double& out, config::Limits<double> limits,
              const std::string& description);
    void flag(const std::string& name, bool& out, const std::string& description);
    void text(const std::string& name, std::string& out, const std::string& type,
              const std::string& description);
    void cpu(const std::string& name, std::optional<unsigned>& out, const std::string& description);
    /// Adds a sink: "null", "verify", "file:DIR", "raw:DIR", "zarr:DIR", "hdf5:DIR" or "dada:KEY".
    void sink(const std::string& name, runtime::SinkPlan& out, const std::string& description);
    /// Adds a list with commas between.
    void integers(const std::string& name, std::vector<std::uint32_t>& out,
                  config::Limits<std::uint32_t> limits, const std::string& description);
    /// Adds a list of sizes. `zero_word` is accepted for 0 when not empty.
    void sizes(const std::string& name, std::vector<std::uint64_t>& out, config::Limits<std::uint64_t> limits,
               const std::string& zero_word, const std::string& description);

    template <typename E, std::size_t N>
    void choice(const std::string& name, E& out, const std::array<config::Word<E>, N>& words,
                const std::string& description) {
        std::vector<std::string_view> names;
        names.reserve(N);
        for (const auto& word : words)
            names.push_back(word.name);
        add(name, fmt::format("{}", fmt::join(names, "|")), std::string(config::name_in(words, out)),
            description,
            [name, &out, &words](const std::string& given) { out = config::choose(words, given, name); });
    }

    /// Adds any other option with one value; `parse` gets its text.
    void add(const std::string& name, const std::string& type, const std::string& default_text,
             const std::string& description, const std::function<void(const std::string&)>& parse);

  private:
    CLI::App& app_;
};

/// Returns the key with this path, its table first ("receive.heaps.queue_depth"); it must exist.
const config::Key& key_of(std::string_view path);

/// Splits "a,b,,c" into {"a", "b", "", "c"}.
std::vector<std::string> split_list(std::string_view text);

}  // namespace spead::app
