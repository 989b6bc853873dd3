// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_transmit.hpp"

#include "app/bench/bench_lcores.hpp"
#include "app/bench/bench_options.hpp"
#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"

namespace spead::app {

namespace {

/// Declares `bench transmit`: one lcore.
class BenchTransmitCommand final : public CommandWith<BenchOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        add_transmit_options(app, options_);
        add_common_options(app, common);
    }
    void complete(Invocation&, const DefaultPort&) override {
        take_transmit_shape(options_);
        check_transmit(options_);
    }
    int run(const Invocation& invocation) override {
        const LcoreBench bench{bench_transmit_memory_mib(options_), 1, bench_transmit_bus(options_),
                               bench_transmit};
        return run_on_lcores(bench, options_, invocation);
    }
};

}  // namespace

namespace commands {

CommandEntry bench_transmit() {
    return {"bench transmit", "Measure heaps to packets to a port", {}, make_command<BenchTransmitCommand>};
}

}  // namespace commands

}  // namespace spead::app
