// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_chunks.hpp"

#include "app/bench/bench_lcores.hpp"
#include "app/bench/bench_options.hpp"
#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"

namespace spead::app {

namespace {

/// Declares `bench chunks`: one lcore, or several that fill the same chunks.
class BenchChunksCommand final : public CommandWith<BenchOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        add_chunks_options(app, options_);
        add_common_options(app, common);
    }
    void complete(Invocation&, const DefaultPort&) override { check_bench(options_); }
    int run(const Invocation& invocation) override {
        const LcoreBench bench{
            bench_chunks_memory_mib(options_), bench_chunks_lcores(options_), {}, bench_chunks};
        return run_on_lcores(bench, options_, invocation);
    }
};

}  // namespace

namespace commands {

CommandEntry bench_chunks() {
    return {"bench chunks",
            "Measure packets into chunks, against a bare copy",
            {},
            make_command<BenchChunksCommand>};
}

}  // namespace commands

}  // namespace spead::app
