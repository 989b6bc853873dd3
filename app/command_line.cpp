// SPDX-License-Identifier: BSD-3-Clause
#include "app/command_line.hpp"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_version.h>

#include "app/commands/table.hpp"
#include "app/eal_words.hpp"
#include "base/error.hpp"
#include "base/suggest.hpp"

namespace spead::app {

namespace {

using commands::kBenchGroup;
using Words = std::vector<std::string>;

constexpr const char* kDescription = R"(Sends and receives SPEAD streams over DPDK.

Options of DPDK's EAL, if any, stand before `--`. Without them the program chooses.
Sizes take a unit (64KiB, 1GB), rates too (10Gbps, 1.25GB/s), times may (5s, 250ms).
A DEVICE is a netdev name, an IP address of this machine, a PCI address, an RDMA
device or a device string such as net_af_packet0,iface=veth0. `dpdk-spead COMMAND --help` tells more.)";

constexpr const char* kExamples = R"(Examples:
  dpdk-spead loopback
  dpdk-spead recv --port net_af_packet0,iface=eth1 239.10.10.0+15:7148
  dpdk-spead send --port net_af_packet0,iface=eth1 --rate 1Gbps 239.10.10.0+15:7148
  dpdk-spead -l 0,1 --vdev=net_memif0,role=client -- recv --json - 239.1.2.3:7148)";

/// Returns the row of that name; null: there is none.
const CommandEntry* entry_of(std::string_view name) {
    const auto table = commands::table();
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const CommandEntry& e) { return e.name == name; });
    return found == table.end() ? nullptr : &*found;
}

/// Splits "bench link" into "bench" and "link"; a name without a group has none.
struct SplitName {
    explicit SplitName(std::string_view name) {
        const std::size_t blank = name.find(' ');
        group = blank == name.npos ? std::string_view{} : name.substr(0, blank);
        word = name.substr(blank == name.npos ? 0 : blank + 1);
    }
    std::string_view group;
    std::string_view word;
};

/// Returns the possible first words, or those after a group.
std::vector<std::string_view> names_in(std::string_view group) {
    std::vector<std::string_view> names;
    for (const CommandEntry& entry : commands::table())
        if (const SplitName name(entry.name); name.group == group)
            names.push_back(name.word);
    if (group.empty())
        names.push_back(kBenchGroup);
    return names;
}

bool contains(const std::vector<std::string_view>& names, std::string_view word) {
    return std::find(names.begin(), names.end(), word) != names.end();
}

/// Formats CLI11's help with the usage line of a program whose first options are EAL's.
class HelpFormatter : public CLI::Formatter {
  public:
    HelpFormatter() {
        column_width(36);
        label("Positionals", "Arguments");
        label("Subcommands", "Commands");
    }

    std::string make_usage(const CLI::App* app, std::string) const override {
        std::string path;
        for (; app->get_parent() != nullptr; app = app->get_parent())
            path.insert(0, " " + app->get_name());
        const CommandEntry* entry = path.empty() ? nullptr : entry_of(std::string_view(path).substr(1));
        const std::string_view arguments = entry == nullptr ? std::string_view{} : entry->arguments;
        return fmt::format("\nUsage: dpdk-spead [EAL options --]{} [options]{}{}\n",
                           path.empty() ? " COMMAND" : path, arguments.empty() ? "" : " ", arguments);
    }
    // One row per option: TYPE, then the default in brackets.
    std::string make_option_opts(const CLI::Option* option) const override {
        std::string text;
        if (!option->get_type_name().empty())
            text += " " + option->get_type_name();
        return text;
    }
    std::string make_option_desc(const CLI::Option* option) const override {
        std::string text = option->get_description();
        if (!option->get_default_str().empty())
            text += " [" + option->get_default_str() + "]";
        return text;
    }
};

/// Holds argv without the program's name, cut at the first `--`.
struct Split {
    Words eal;
    Words ours;
};

/// Returns whether other programs' words follow the command's own `--`.
bool takes_rest(const Words& words) {
    const CommandEntry* entry = words.empty() ? nullptr : entry_of(words.front());
    return entry != nullptr && entry->takes_rest;
}

Split split(int argc, const char* const* argv) {
    const Words words(argv + std::min(argc, 1), argv + argc);
    const auto mark = std::find(words.begin(), words.end(), "--");
    if (mark == words.end() || takes_rest(words))
        return {{}, words};
    return {{words.begin(), mark}, {mark + 1, words.end()}};
}

/// Cuts the words after the command's own `--` off.
Words cut_rest(Words& words) {
    const auto mark = std::find(words.begin(), words.end(), "--");
    if (!takes_rest(words) || mark == words.end())
        return {};
    Words rest(mark + 1, words.end());
    if (rest.empty())
        throw_usage(words.front(), "no command follows `--`; leave `--` out to open a prompt");
    words.erase(mark, words.end());
    return rest;
}

std::string default_port(const Words& eal, const Environment& environment) {
    const auto devices = eal_devices(eal);
    if (devices.size() == 1)
        return devices.front();
    if (devices.size() > 1)
        throw_usage("--port", "it is missing, and EAL's --vdev makes {} ports; give one of {}",
                    devices.size(), fmt::join(devices, ", "));
    const char* named = environment ? environment(kInterfaceVariable) : nullptr;
    return named == nullptr ? std::string{} : std::string(named);
}

/// Finds the command before CLI11 does, for errors that list the possible words.
void check_command(const Split& words) {
    const std::vector<std::string_view> names = names_in({});
    if (!words.eal.empty() && contains(names, words.eal.front()))
        throw_usage("",
                    "`{0}` is before `--`, which is the place of EAL's options; write dpdk-spead [EAL "
                    "options] -- {0} ...",
                    words.eal.front());
    if (words.ours.empty())
        throw_usage("", "the command is missing; give {}, or --help", list_of(names));
    const std::string& first = words.ours.front();
    if (first == "--help" || first == "-h" || first == "--version")
        return;
    if (first.starts_with("-")) {
        if (is_eal_option(first))
            refuse_eal_option(first);
        throw_usage(first, "the command comes first; give {}, then its options", list_of(names));
    }
    if (!contains(names, first))
        throw_usage("", "`{}` is not a command{}; give {}", first, hint(first, names), list_of(names));
    if (first != kBenchGroup || words.ours.size() < 2 || words.ours[1] == "--help" || words.ours[1] == "-h")
        return;
    const std::vector<std::string_view> benches = names_in(kBenchGroup);
    if (!contains(benches, words.ours[1]))
        throw_usage("", "`bench {}` is not a benchmark{}; give bench {}", words.ours[1],
                    hint(words.ours[1], benches), list_of(benches));
}

[[noreturn]] void refuse_extra(const CLI::App& command, std::string_view path, const Words& extras) {
    Words names;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames())
            names.push_back("--" + name);
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string& word = extras.front();
    const std::string see = fmt::format("dpdk-spead {} --help lists the options", path);
    if (is_eal_option(word))
        refuse_eal_option(word);
    if (word.starts_with("-")) {
        const std::string name = word.substr(0, word.find('='));
        throw_usage("", "`{}` is not an option of {}{}; {}", name, path, hint(name, known), see);
    }
    throw_usage("", "`{}` is an extra argument of {}; {}", word, path, see);
}

void check_extras(const CLI::App& command, std::string_view path) {
    Words extras = command.remaining();
    std::erase(extras, "--");  // CLI11 keeps the mark itself among them
    if (!extras.empty())
        refuse_extra(command, path, extras);
}

/// Declares every command of the table to CLI11. All are made, since any may be typed.
class Parser {
  public:
    /// Takes `common`, which gets parsed values and outlives the parser.
    explicit Parser(CommonOptions& common) : app_(kDescription, "dpdk-spead") {
        app_.formatter(std::make_shared<HelpFormatter>());
        app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
        app_.set_help_flag("-h,--help", "Show this and exit");
        app_.add_flag("--version", version_, "Show the versions of the program and of DPDK, and exit");
        CLI::App* group = nullptr;
        for (const CommandEntry& entry : commands::table()) {
            const SplitName name(entry.name);
            if (!name.group.empty() && group == nullptr)
                group =
                    app_.add_subcommand(std::string(kBenchGroup), std::string(commands::kBenchDescription));
            CLI::App& parent = name.group.empty() ? app_ : *group;
            Row& row = rows_.emplace_back();
            row.entry = &entry;
            row.app = parent.add_subcommand(std::string(name.word), std::string(entry.description));
            row.command = entry.make();
            row.command->declare(*row.app, common);
            row.app->allow_extras();
        }
        app_.footer(kExamples);  // after the commands, which would inherit it
    }

    /// Returns the text of --help or --version; empty when a command was typed.
    std::string parse(const Words& words) {
        try {
            app_.parse(Words(words.rbegin(), words.rend()));
        } catch (const CLI::CallForHelp&) {
            return app_.help();
        } catch (const CLI::ArgumentMismatch& error) {
            const std::string_view text = error.what();
            if (text.find("flag override") != std::string_view::npos)
                throw_usage("", "`--{}` takes no value; leave out what follows the `=`",
                            text.substr(0, text.find(' ')));
            if (const std::size_t end = text.find(": At Most 1 required"); end != std::string_view::npos)
                throw_usage("", "`{}` is given more than once; give it once", text.substr(0, end));
            throw_usage("", "{}; dpdk-spead {} --help shows how", text, words.front());
        } catch (const CLI::ParseError& error) {
            throw_usage("", "{}; dpdk-spead {} --help shows how", error.what(), words.front());
        }
        return version_ ? fmt::format("dpdk-spead {} ({})\n", DPDK_SPEAD_VERSION, rte_version())
                        : std::string{};
    }

    struct Row {
        const CommandEntry* entry = nullptr;
        CLI::App* app = nullptr;
        std::unique_ptr<Command> command;
    };
    /// Returns the typed command, which has no excess words.
    Row& typed() {
        const auto row =
            std::find_if(rows_.begin(), rows_.end(), [](const Row& r) { return r.app->parsed(); });
        if (row == rows_.end())
            throw_usage("", "the benchmark is missing; give bench {}", list_of(names_in(kBenchGroup)));
        check_extras(*row->app, row->entry->name);
        return *row;
    }

  private:
    CLI::App app_;
    bool version_ = false;
    std::vector<Row> rows_;
};

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv, const Environment& environment,
                               const FindLonePort& lone_port) {
    Split words = split(argc, argv);
    check_command(words);

    CommandLine result;
    Invocation& invocation = result.invocation;
    invocation.rest = cut_rest(words.ours);
    invocation.eal_args = words.eal;
    Parser parser(invocation.common);
    result.text = parser.parse(words.ours);
    if (!result.text.empty())
        return result;
    Parser::Row& typed = parser.typed();
    const DefaultPort port{
        [&] { return default_port(words.eal, environment); },
        [&] {
            port::LonePort found = lone_port ? lone_port() : port::LonePort{};
            if (!found.device.empty())
                invocation.remarks.push_back(fmt::format(
                    "no port is named: using {}, the only interface that is up and carries no default route",
                    found.device));
            return found;
        }};
    typed.command->complete(invocation, port);
    result.name = typed.entry->name;
    result.command = std::move(typed.command);
    return result;
}

}  // namespace spead::app
