// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/targets.hpp"

#include <algorithm>
#include <fstream>
#include <string>

#include "app/option_set.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "observe/json.hpp"

namespace spead::app {

using observe::Json;

namespace {

/// Holds the length of the longest name of a host, a colon and a port.
constexpr std::size_t kLongestAddress = 253 + 8;
/// Limits the file of targets, in bytes.
constexpr std::size_t kLongestFile = std::size_t{4} << 20;

/// Returns whether `text` is a name or an address of a host, and a port. Nothing else may reach the URL.
bool is_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos || colon == 0 || text.size() > kLongestAddress)
        return false;
    const std::string_view port = text.substr(colon + 1);
    std::string_view host = text.substr(0, colon);
    const bool v6 = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (v6)
        host = host.substr(1, host.size() - 2);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto is_of_host = [&](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
               (v6 ? c == ':' : c == '-' || c == '_');
    };
    return !port.empty() && port.size() <= 5 && std::ranges::all_of(port, is_digit) &&
           std::stoul(std::string(port)) - 1 < 65535 && std::ranges::all_of(host, is_of_host);
}

void add(std::vector<FleetTarget>& targets, FleetTarget target, const std::string& where) {
    if (!is_address(target.address))
        throw_usage(where, "`{}` is not the address of a metrics server; give HOST:PORT, as in 10.0.0.1:9100",
                    printable(target.address));
    if (std::ranges::find(targets, target.address, &FleetTarget::address) != targets.end())
        throw_usage(where, "{} is there twice; give each process once", target.address);
    if (targets.size() == kMostTargets)
        throw_usage(where, "there are more than {} targets; give fewer", kMostTargets);
    targets.push_back(std::move(target));
}

/// Returns the label's text; empty: there is none.
std::string label(const Json& group, const char* name) {
    const auto labels = group.find("labels");
    if (labels == group.end() || !labels->is_object())
        return {};
    const auto found = labels->find(name);
    return found != labels->end() && found->is_string() ? printable(found->get<std::string>())
                                                        : std::string();
}

}  // namespace

std::vector<FleetTarget> targets_in(std::string_view contents, const std::string& path) {
    const Json document = Json::parse(contents, nullptr, false);
    std::vector<FleetTarget> targets;
    if (!document.is_array())
        throw_usage(
            path, "it is no file of targets: it holds no list of JSON; write one by `plan --format file_sd`");
    for (const Json& group : document) {
        const auto list = group.is_object() ? group.find("targets") : group.end();
        if (list == group.end() || !list->is_array())
            throw_usage(path, "an entry has no list `targets`; write the file by `plan --format file_sd`");
        const std::string index = label(group, "spead_shard");
        const std::string count = label(group, "spead_shards");
        for (const Json& address : *list)
            add(targets,
                {address.is_string() ? address.get<std::string>() : address.dump(),
                 index.empty() || count.empty() ? std::string() : index + "/" + count},
                path);
    }
    if (targets.empty())
        throw_usage(path, "it has no targets; write it by `plan --format file_sd`");
    return targets;
}

std::vector<FleetTarget> fleet_targets(const std::string& text) {
    if (std::ifstream file(text); file) {
        std::string contents(kLongestFile + 1, '\0');
        file.read(contents.data(), static_cast<std::streamsize>(contents.size()));
        contents.resize(static_cast<std::size_t>(file.gcount()));
        if (contents.size() > kLongestFile)
            throw_usage(text, "it is longer than {} MiB, and no file of targets", kLongestFile >> 20);
        return targets_in(contents, text);
    }
    if (text.find(':') == text.npos)
        throw_usage("--fleet",
                    "there is no file `{}` that can be read, and it is no HOST:PORT; give one of these",
                    printable(text));
    std::vector<FleetTarget> targets;
    for (const std::string& address : split_list(text))
        add(targets, {address, {}}, "--fleet");
    if (targets.empty())
        throw_usage("--fleet", "it names no process; give HOST:PORT,... or a file of targets");
    return targets;
}

}  // namespace spead::app
