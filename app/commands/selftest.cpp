// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/selftest.hpp"

#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/option_set.hpp"
#include "base/error.hpp"

namespace spead::app {

namespace {

/// Declares `selftest`: tests one port.
class SelftestCommand final : public CommandWith<SelftestOptions> {
  public:
    void declare(CLI::App& app, CommonOptions&) override {
        OptionSet options(app);
        options.text("--port", options_.port, "PORT", "As for --port of recv");
        options.text("--to", options_.destination, "GROUP:PORT", "Destination of the test packets");
        options.flag("--gpu", options_.gpu, "Try the first GPU, too; without --port, it alone");
        options.flag("--json", options_.json, "Print JSON on standard output");
    }
    void complete(Invocation&, const DefaultPort&) override {
        if (options_.port.empty() && !options_.gpu)
            throw_usage("--port",
                        "it is missing: dpdk-spead selftest --port PORT (`dpdk-spead info` lists them)");
        if (options_.port.empty() && options_.destination != SelftestOptions{}.destination)
            throw_usage("--to", "`{}` is a destination of a port's packets; give --port, too",
                        options_.destination);
    }
    int run(const Invocation& invocation) override { return selftest(options_, invocation.eal_args); }
};

}  // namespace

namespace commands {

CommandEntry selftest() {
    return {"selftest", "Try everything on a port that the program uses", {}, make_command<SelftestCommand>};
}

}  // namespace commands

}  // namespace spead::app
