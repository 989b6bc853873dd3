// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_assemble.hpp"

#include "app/bench/bench_lcores.hpp"
#include "app/bench/bench_options.hpp"
#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"

namespace spead::app {

namespace {

/// Declares `bench assemble`: one lcore.
class BenchAssembleCommand final : public CommandWith<BenchOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        add_assemble_options(app, options_);
        add_common_options(app, common);
    }
    void complete(Invocation&, const DefaultPort&) override {
        take_shape(options_);
        check_bench(options_);
    }
    int run(const Invocation& invocation) override {
        const LcoreBench bench{
            bench_assemble_memory_mib(options_), bench_assemble_lcores(options_), {}, bench_assemble};
        return run_on_lcores(bench, options_, invocation);
    }
};

}  // namespace

namespace commands {

CommandEntry bench_assemble() {
    return {"bench assemble",
            "Measure packets to heaps, against a bare copy",
            {},
            make_command<BenchAssembleCommand>};
}

}  // namespace commands

}  // namespace spead::app
