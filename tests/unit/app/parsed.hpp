// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "app/command_line.hpp"
#include "app/run/run_options.hpp"
#include "tests/support/refusal.hpp"

/// Parses command lines that tests give as one text.
namespace spead::test {

using Variables = std::map<std::string, std::string>;

inline app::CommandLine parsed(const std::vector<std::string>& words, const Variables& variables = {},
                               const app::FindLonePort& lone_port = {}) {
    std::vector<const char*> argv{"dpdk-spead"};
    for (const std::string& word : words)
        argv.push_back(word.c_str());
    return app::parse_command_line(
        static_cast<int>(argv.size()), argv.data(),
        [&](const char* name) {
            const auto found = variables.find(name);
            return found == variables.end() ? nullptr : found->second.c_str();
        },
        lone_port);
}

/// Parses words that are separated by blanks.
inline app::CommandLine parsed(const std::string& line, const Variables& variables = {}) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return parsed(words, variables);
}

/// Returns the options of a line's command. Throws bad_cast if the command has others.
template <typename Options>
const Options& options_of(const app::CommandLine& line) {
    return dynamic_cast<const app::CommandWith<Options>&>(*line.command).options();
}

/// Returns the options of the command that these words name.
template <typename Options>
Options parsed_options(const std::vector<std::string>& words, const Variables& variables = {},
                       const app::FindLonePort& lone_port = {}) {
    return options_of<Options>(parsed(words, variables, lone_port));
}
template <typename Options>
Options parsed_options(const std::string& line, const Variables& variables = {}) {
    return options_of<Options>(parsed(line, variables));
}

/// Returns the plan of a command that runs one.
inline runtime::Plan planned(const std::vector<std::string>& words, const Variables& variables = {}) {
    return parsed_options<app::RunOptions>(words, variables).plan;
}
inline runtime::Plan planned(const std::string& line, const Variables& variables = {}) {
    return parsed_options<app::RunOptions>(line, variables).plan;
}

inline void expect_refused(const std::string& line, std::initializer_list<std::string_view> parts,
                           const Variables& variables = {}) {
    SCOPED_TRACE(line);
    expect_usage_error([&] { parsed(line, variables); }, parts);
}

}  // namespace spead::test
