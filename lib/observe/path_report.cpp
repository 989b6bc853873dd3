// SPDX-License-Identifier: BSD-3-Clause
#include "observe/path_report.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "stats/paths.hpp"

namespace spead::observe {

namespace {

std::vector<std::string> endpoints_of(const stats::StreamSnapshot& s, std::size_t path) {
    return path < s.path_endpoints.size() ? s.path_endpoints[path] : std::vector<std::string>();
}

}  // namespace

std::string endpoints_text(const std::vector<std::string>& endpoints) {
    if (endpoints.empty())
        return "";
    if (endpoints.size() == 1)
        return endpoints.front();
    return fmt::format("{} and {} more", endpoints.front(), endpoints.size() - 1);
}

Json paths_json(const stats::StreamSnapshot& s) {
    Json all = Json::array();
    for (std::size_t path = 0; path < s.path_ports.size(); path++) {
        const stats::PathCounters& c = s.paths[path];
        all.push_back({{"port", s.path_ports[path]},
                       {"endpoints", endpoints_of(s, path)},
                       {"received", c.packets},
                       {"used", c.placed},
                       {"redundant", c.redundant},
                       {"repeated", c.repeated},
                       {"late", c.late},
                       {"control", c.control},
                       {"missing", stats::missing_packets(s, path)},
                       {"forgotten", c.forgotten},
                       {"used_bytes", c.bytes}});
    }
    return all;
}

void add_path_rows(Table& table, const stats::StreamSnapshot& s) {
    for (std::size_t path = 0; path < s.path_ports.size(); path++) {
        const stats::PathCounters& c = s.paths[path];
        table.row("path of", s.name);
        table.word("port", stats::path_name(s, path));
        table.word("endpoints", endpoints_text(endpoints_of(s, path)));
        table.count("received", c.packets);
        table.count("used", c.placed);
        table.count("redundant", c.redundant);
        table.count_if_any("repeated", c.repeated);
        table.count_if_any("late", c.late);
        table.count_if_any("control", c.control);
        const std::uint64_t missing = stats::missing_packets(s, path);
        table.number("missing", missing_text(std::to_string(missing), missing, c.placed + c.redundant));
        table.count_if_any("forgotten", c.forgotten);
        table.number("used payload", human_size(c.bytes));
    }
}

}  // namespace spead::observe
