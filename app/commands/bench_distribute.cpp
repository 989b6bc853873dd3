// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_distribute.hpp"

#include "app/bench/bench_lcores.hpp"
#include "app/bench/bench_options.hpp"
#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"

namespace spead::app {

namespace {

/// Declares `bench distribute`: one lcore.
class BenchDistributeCommand final : public CommandWith<BenchOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        add_distribute_options(app, options_);
        add_common_options(app, common);
    }
    void complete(Invocation&, const DefaultPort&) override { check_bench(options_); }
    int run(const Invocation& invocation) override {
        const LcoreBench bench{bench_distribute_memory_mib(options_), 1, {}, bench_distribute};
        return run_on_lcores(bench, options_, invocation);
    }
};

}  // namespace

namespace commands {

CommandEntry bench_distribute() {
    return {"bench distribute",
            "Measure an lcore that polls a queue for several",
            {},
            make_command<BenchDistributeCommand>};
}

}  // namespace commands

}  // namespace spead::app
