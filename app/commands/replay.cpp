// SPDX-License-Identifier: BSD-3-Clause
#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/replay/replay_captures.hpp"
#include "app/run/run_options.hpp"

namespace spead::app {

namespace {

/// Declares `replay`: sends the packets of files again.
class ReplayCommand final : public CommandWith<ReplayOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        add_replay_options(app, options_);
        add_common_options(app, common);
        add_lcore_timeout(app, given_);
    }
    void complete(Invocation&, const DefaultPort& default_port) override {
        options_.lcore_timeout = given_.values.lcore_timeout;
        complete_replay(options_, default_port);
    }
    int run(const Invocation& invocation) override { return replay(options_, invocation); }

  private:
    RuntimeOptions given_;
};

}  // namespace

namespace commands {

CommandEntry replay() {
    return {"replay", "Send pcap files again", "FILE...", make_command<ReplayCommand>};
}

}  // namespace commands

}  // namespace spead::app
