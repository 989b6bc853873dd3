// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/limits.hpp"
#include "runtime/plan.hpp"

/// Describes one key of the file format for its reader, its printer, the rules, the command line, the prompt
/// and docs/configuration.md. The tables are in lib/config/keys/.
namespace spead::config {

/// Holds the value of any key. Unset (monostate): an optional value that is missing. Choices are their words;
/// addresses and endpoints are texts as in the file.
using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                           std::vector<unsigned>, std::vector<std::string>>;

/// Refers to the part of a plan that a table of the file describes.
using Part = std::variant<runtime::RuntimePlan*, runtime::MemoryPlan*, runtime::PortPlan*,
                          runtime::ReceivePlan*, runtime::SendPlan*, runtime::EndPlan*>;
using ConstPart =
    std::variant<const runtime::RuntimePlan*, const runtime::MemoryPlan*, const runtime::PortPlan*,
                 const runtime::ReceivePlan*, const runtime::SendPlan*, const runtime::EndPlan*>;

/// Returns the place of a value for errors: "" asks for the whole value, "[2]" for the third entry of a list.
using Where = std::function<std::string(std::string_view entry)>;

enum class KeyType : std::uint8_t {
    flag,
    integer,
    real,
    size,      ///< bytes
    rate,      ///< bytes per second
    time,      ///< seconds
    text,      ///< a string; Key::check restricts it
    choice,    ///< one of Key::choices
    cpu,       ///< number of a CPU
    cpus,      ///< list of CPU numbers
    texts,     ///< list of strings
    endpoints  ///< list of strings, each an endpoint or a range of them
};

/// Says what Engine::reconfigure does when the key differs from the plan that runs.
enum class Change : std::uint8_t {
    refused,   ///< needs a restart of the program
    anew,      ///< the stream is received anew; heaps in flight end incomplete
    immediate  ///< nothing is interrupted
};

/// Reads and writes a member of the plan. Made by key_field.hpp.
struct Field {
    KeyType type = KeyType::text;
    std::span<const std::string_view> choices{};
    Value (*get)(ConstPart part) = nullptr;
    /// Sets the member. The value must have the key's type and be in its range. Throws UsageError for a text
    /// that cannot be read.
    void (*set)(Part part, const Value& value, const Where& where) = nullptr;
};

struct Key {
    std::string_view name;
    Field field;
    Range range{};
    bool zero = false;      ///< 0 is allowed beside the range; its meaning is "off" or "not set"
    bool off_word = false;  ///< the word "off" stands for 0, also where a plan is printed
    Change change = Change::refused;
    bool required = false;  ///< a table without it is refused
    /// Leaves the key out of a printed plan while it has its default. Empty texts and unset values are always
    /// left out.
    bool terse = false;
    std::string_view unset{};    ///< in docs, the meaning of unset or empty: "looked up"
    std::string_view example{};  ///< a valid value as in the file; every text and list of texts has one
    std::string_view option{};   ///< spelling on the command line, with its dashes
    std::string_view word{};     ///< in the option's help, the placeholder of a text: "MAC"
    std::string_view help;       ///< one sentence
    /// Checks a text against the key's language; null: any text is valid. Throws UsageError.
    void (*check)(const std::string& text, const std::string& where) = nullptr;
};

/// Describes one table of the file.
struct Section {
    std::string_view table;  ///< as in its head, without brackets: "receive.heaps"
    bool list;               ///< [[table]] rather than [table]
    std::span<const Key> keys;

    /// Returns the head as it is written: "[receive.heaps]".
    std::string head() const;
    /// Returns the table that this one is a part of ("receive"), or its own name.
    std::string_view root() const { return table.substr(0, table.find('.')); }
    /// Returns the name within the root with a dot after it ("heaps."), or "".
    std::string prefix() const;
};

/// Returns the fault of a number or a choice, as a sentence with the key, the value and the fix; empty if
/// valid. Accepts values of any other type.
std::string complaint(const Key& key, const Value& value);

/// Returns the value as in the file: `"16MiB"`, `[1, 2]`. An unset value gives "".
std::string file_text(const Key& key, const Value& value);

/// Returns the possible words, if the key has a fixed number of them: those of a choice, or "true" and
/// "false".
std::span<const std::string_view> choices(const Key& key);

/// Describes the accepted values in a few words: "1 to 65536", "busy, adaptive or interrupt".
std::string accepted(const Key& key);

}  // namespace spead::config
