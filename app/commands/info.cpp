// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/info.hpp"

#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/option_set.hpp"
#include "base/error.hpp"

namespace spead::app {

namespace {

/// Declares `info`: ports and drivers.
class InfoCommand final : public CommandWith<InfoOptions> {
  public:
    void declare(CLI::App& app, CommonOptions&) override {
        add_port_arguments(app, options_.ports, "As for --port of recv; none: every possible interface");
        OptionSet options(app);
        options.flag("--drivers", options_.drivers, "Print the table of drivers instead");
        options.flag("--formats", options_.formats, "Print the known formats of packets instead");
        options.flag("--json", options_.json, "Print JSON on standard output");
    }
    void complete(Invocation&, const DefaultPort&) override {
        const std::string_view table = options_.formats ? "--formats" : "--drivers";
        if (options_.formats && options_.drivers)
            throw_usage("--formats", "it excludes --drivers; give one of them");
        if ((options_.formats || options_.drivers) && !options_.ports.empty())
            throw_usage(std::string(table),
                        "it is the same for all ports, and `{}` is given; leave out one of them",
                        options_.ports.front());
    }
    int run(const Invocation& invocation) override { return info(options_, invocation.eal_args); }
};

}  // namespace

namespace commands {

CommandEntry info() {
    return {"info", "Show ports and their features", "[PORT...]", make_command<InfoCommand>};
}

}  // namespace commands

}  // namespace spead::app
