// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/prompt/grammar.hpp"

/// Translates requests for changes into commands of the prompt. Both have one table, so nothing that the
/// prompt can change is missing, and refusals have the same words. Pure.
namespace spead::app {

/// Describes one change: its path has the words of the command, and its members are the arguments.
struct ChangePath {
    enum class Kind : std::uint8_t {
        literal,   ///< a word of the command between arguments; no member
        text,      ///< a text or a whole number
        flag,      ///< a literal that may be left out: true adds it
        settings,  ///< an object of keys and values
    };
    struct Member {
        std::string name;  ///< of the member; of a literal, the word
        Kind kind = Kind::text;
        bool required = true;
        bool operator==(const Member&) const = default;
    };

    std::string path;  ///< "/api/v1/stream/add"
    std::string syntax;
    std::string help;
    std::vector<std::string> words;  ///< those of the path: {"stream", "add"}
    std::vector<Member> members;     ///< and literals, in the command's order
};

/// Returns the change that a command of the prompt is.
ChangePath change_path(const PromptCommand& command);

/// Returns everything that changes the process. Commands of a session (help, watch, wait, quit), and those
/// that only show, are left out.
std::vector<ChangePath> change_paths();

/// Returns the command's words for a request's body. Throws UsageError for a member that is missing, unknown,
/// or no text. `body` is sorted by name: an ordered one would look through all members at each new one.
std::vector<std::string> words_of(const ChangePath& change, const nlohmann::json& body);

}  // namespace spead::app
