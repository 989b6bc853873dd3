// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "base/units.hpp"
#include "config/config.hpp"
#include "config/copy_rules.hpp"
#include "config/kernel_ports.hpp"
#include "config/key_depth.hpp"
#include "config/toml_table.hpp"
#include "runtime/paths.hpp"

namespace spead::config {

namespace {

using runtime::Plan;

/// Limits the size of a file; larger ones are no configurations.
constexpr std::size_t kMaxFile = std::size_t{16} << 20;

void check_version(const TomlTable& root) {
    const std::optional<std::int64_t> version = root.version();
    if (!version)
        throw UsageError(root.where(),
                         fmt::format("`version` is missing; start the file with version = {}", kVersion));
    if (*version != kVersion)
        throw UsageError(
            root.where("version"),
            fmt::format("version {} of the file format is not supported; this program reads version {}",
                        *version, kVersion));
}

/// Sets the members for the keys in the table; missing keys change nothing.
void read_keys(const TomlTable& table, const Source& source, const Section& section, Part part) {
    for (const Key& key : section.keys) {
        const Value value = table.value(key);
        if (std::holds_alternative<std::monostate>(value))
            continue;
        key.field.set(part, value, [&](std::string_view entry) {
            return source.locate(fmt::format("{}{}", table.path(key.name), entry));
        });
    }
}

/// Reads [[root]] and the tables within it.
template <typename PartPlan>
PartPlan read_part(const toml::table& tree, Source& source, std::string_view root, std::size_t index) {
    PartPlan part;
    const TomlTable table(tree, source, fmt::format("{}[{}]", root, index), root);
    for (const Section& section : sections()) {
        if (section.root() != root)
            continue;
        if (section.table == root) {
            read_keys(table, source, section, &part);
            continue;
        }
        const std::string_view name = section.table.substr(root.size() + 1);
        const toml::table* inner = table.sub_table(name);
        if (inner == nullptr)
            continue;
        if constexpr (std::is_same_v<PartPlan, runtime::ReceivePlan>)
            add_table(part, section.table);
        read_keys(TomlTable(*inner, source, table.path(name), section.table), source, section, &part);
    }
    return part;
}

template <typename PartPlan>
void read_list(const TomlTable& root, Source& source, std::string_view name, std::vector<PartPlan>& parts) {
    for (const toml::table* table : root.tables(name))
        parts.push_back(read_part<PartPlan>(*table, source, name, parts.size()));
}

void read_single(const TomlTable& root, Source& source, std::string_view name, Part part) {
    if (const toml::table* table = root.sub_table(name))
        read_keys(TomlTable(*table, source, std::string(name), name), source, section_of(name), part);
}

/// Refuses keys of a stream that contradict each other, although each is right for itself.
void check_path_keys(const toml::table& stream, const Source& source) {
    const std::string name = stream["name"].value_or(std::string());
    const auto refuse = [&](std::string_view key, const std::string& what) {
        throw UsageError(source.at(stream[key].node()->source().begin), what);
    };
    const toml::array* const paths = stream["paths"].as_array();
    const bool has_paths = stream.contains("paths") && (paths == nullptr || !paths->empty());
    if (has_paths && stream.contains("port"))
        refuse("port", fmt::format("stream `{}` has both `port` and `paths`; leave out `port`, because "
                                   "`paths` names the ports of both paths",
                                   name));
    if (!has_paths && stream.contains("path_skew"))
        refuse("path_skew",
               fmt::format("stream `{}` has one path; name both ports in `paths`, or leave `path_skew` out",
                           name));
}

/// Returns the time of a key that may be wrong: then its reader says so, and it is that of a plan.
double time_of(const toml::node_view<toml::node>& node, double otherwise) {
    if (const auto text = node.value<std::string>(); node.is_string() && text)
        try {
            return parse_duration(*text);
        } catch (const Error&) {
            return otherwise;
        }
    return node.value_or(otherwise);
}

/// Fills in what streams with two paths leave out: `port`, which is the first path's, and defaults that give
/// both paths time.
void complete_paths(toml::table& tree, const Source& source) {
    toml::array* const streams = tree["receive"].as_array();
    if (streams == nullptr)
        return;
    for (toml::node& node : *streams) {
        toml::table* const stream = node.as_table();
        if (stream == nullptr)
            continue;
        check_path_keys(*stream, source);
        if (!stream->contains("paths"))
            continue;
        const toml::array* const paths = (*stream)["paths"].as_array();
        if (paths == nullptr)
            stream->insert("port", "");  // the fault is in `paths`
        if (paths == nullptr || paths->empty() || !paths->front().is_string())
            continue;
        stream->insert("port", paths->front());
        stream->insert("heaps", toml::table{});
        if (toml::table* const heaps = (*stream)["heaps"].as_table(); heaps != nullptr) {
            heaps->insert("max_live", runtime::kPathLive);
            heaps->insert("history", runtime::kPathHistory);
            const double skew = time_of((*stream)["path_skew"], runtime::ReceivePlan{}.path_skew);
            heaps->insert("history_time", duration_text(path_history_time(std::max(skew, 0.0))));
        }
    }
}

}  // namespace

Plan read_plan(const toml::table& tree, Source& source) {
    const TomlTable root(tree, source, "", "");
    check_version(root);
    Plan plan;
    read_single(root, source, "runtime", &plan.runtime);
    read_single(root, source, "memory", &plan.memory);
    read_list(root, source, "port", plan.ports);
    read_list(root, source, "receive", plan.receives);
    read_list(root, source, "send", plan.sends);
    read_single(root, source, "end", &plan.end);
    return plan;
}

runtime::Plan parse_text(std::string_view text, std::string_view name, std::span<const std::string> asking) {
    Source source(name.empty() ? std::string("configuration") : std::string(name));
    toml::table tree;
    if (const std::optional<std::size_t> at = too_deep_key(text)) {
        const std::string_view before = text.substr(0, *at);
        const auto line = static_cast<toml::source_index>(std::count(before.begin(), before.end(), '\n') + 1);
        const auto column = static_cast<toml::source_index>(*at - (before.rfind('\n') + 1) + 1);
        throw UsageError(source.at({line, column}),
                         fmt::format("a key has more than {} parts", kMaxKeyParts));
    }
    try {
        tree = toml::parse(text, name);
    } catch (const toml::parse_error& error) {
        throw UsageError(source.at(error.source().begin), fmt::format("not TOML: {}", error.description()));
    }
    complete_paths(tree, source);
    complete_copies(tree);
    check_originals(tree, source);
    Plan plan = read_plan(tree, source);
    add_kernel_ports(plan);
    validate(
        plan, [&](std::string_view path) { return source.locate(path); }, asking);
    return plan;
}

std::string read_file(const std::string& path) {
    const auto fail = [&](std::string_view what) {
        throw_error(path, "cannot {} the configuration: {}; give a readable file, such as those in config/",
                    what, std::strerror(errno));
    };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file)
        fail("open");
    // Read to its end rather than asked for its size, so that a pipe serves as well.
    std::string text;
    std::array<char, 65536> buffer;
    while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
        text.append(buffer.data(), size);
        if (text.size() > kMaxFile)
            throw_usage(path, "it is larger than the {} that a configuration may have; is it the right file?",
                        human_size(kMaxFile));
    }
    if (std::ferror(file.get()) != 0)
        fail("read");
    return text;
}

runtime::Plan load_file(const std::string& path) {
    return parse_text(read_file(path), path);
}

}  // namespace spead::config
