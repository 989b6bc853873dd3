// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top.hpp"

#include <array>
#include <optional>

#include <CLI/CLI.hpp>

#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/fleet/fleet.hpp"
#include "app/option_set.hpp"
#include "base/error.hpp"
#include "base/listen_address.hpp"
#include "config/names.hpp"

namespace spead::app {

namespace {

constexpr std::array kTopPageWords{
    config::Word{TopPage::streams, kTopPages[0]}, config::Word{TopPage::loss, kTopPages[1]},
    config::Word{TopPage::sends, kTopPages[2]}, config::Word{TopPage::ports, kTopPages[3]},
    config::Word{TopPage::lcores, kTopPages[4]}};
constexpr std::array kTopSortWords{
    config::Word{TopSort::name, kTopSorts[0]}, config::Word{TopSort::rate, kTopSorts[1]},
    config::Word{TopSort::loss, kTopSorts[2]}, config::Word{TopSort::queue, kTopSorts[3]}};

/// Declares `top`: shows a running process.
class TopCommand final : public CommandWith<TopOptions> {
  public:
    void declare(CLI::App& app, CommonOptions&) override {
        app.add_option("PROCESS", options_.process,
                       "Name, pid or telemetry socket; none: the only one that runs")
            ->type_name("");
        OptionSet options(app);
        options.text("--fleet", targets_, "TARGETS",
                     "Show the processes of many hosts: HOST:PORT,... or a file of `plan --format file_sd`");
        options.text("--http", listen_, "[ADDRESS:]PORT",
                     "Serve a page of --fleet there, in place of the screen; without ADDRESS on 127.0.0.1");
        options.flag("--once", options_.once, "Print one picture as text, and exit");
        options.duration("--interval", options_.interval, false,
                         "Time between two pictures; rates are over this time");
        options.choice("--page", options_.view.page, kTopPageWords, "First page of the table");
        page_ = app.get_option("--page");
        options.choice("--sort", options_.view.sort, kTopSortWords, "Sort order of its rows");
    }
    void complete(Invocation&, const DefaultPort&) override {
        if (options_.interval < 0.1 || options_.interval > 3600)
            throw_usage("--interval", "the interval is out of range; give 100ms to 1h");
        if (!targets_.empty() && !options_.process.empty())
            throw_usage("--fleet", "it shows the processes of its targets, and not {}; give one of the two",
                        options_.process);
        if (!targets_.empty() && page_->count() != 0)
            throw_usage("--page", "the screen of --fleet has one page; leave --page out");
        if (listen_.empty())
            return;
        if (targets_.empty())
            throw_usage("--http",
                        "it serves a page of many processes; give --fleet, too. Each process has a page "
                        "of its own (`run --metrics`)");
        if (options_.once)
            throw_usage("--http", "it serves until a signal; leave --once out");
        listen_at_ = parse_listen_address(listen_, "--http");
    }
    int run(const Invocation&) override {
        return targets_.empty() ? top(options_) : fleet_top(targets_, options_, listen_at_);
    }

  private:
    std::string targets_;
    std::string listen_;
    std::optional<ListenAddress> listen_at_;
    const CLI::Option* page_ = nullptr;
};

}  // namespace

namespace commands {

CommandEntry top() {
    return {"top", "Show a running process, live", "[PROCESS]", make_command<TopCommand>};
}

}  // namespace commands

}  // namespace spead::app
