// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/format_list.hpp"

#include <fmt/core.h>

#include "wire/known_formats.hpp"

namespace spead::app {

namespace {

/// Returns the text with each of its lines indented.
std::string indented(std::string_view text) {
    std::string out = "    ";
    for (const char c : text) {
        out += c;
        if (c == '\n')
            out += "    ";
    }
    return out;
}

}  // namespace

std::string format_list() {
    std::string out;
    for (const wire::KnownFormat& f : wire::known_formats())
        out += fmt::format("{}{}: {}\n    (after {}; not compared with a telescope's packets)\n{}\n",
                           out.empty() ? "" : "\n", f.name, f.about, f.source, indented(f.text));
    return out;
}

observe::Json format_document() {
    auto list = observe::Json::array();
    for (const wire::KnownFormat& f : wire::known_formats())
        list.push_back({{"name", f.name}, {"about", f.about}, {"source", f.source}, {"format", f.text}});
    return {{"version", 1}, {"formats", std::move(list)}};
}

}  // namespace spead::app
