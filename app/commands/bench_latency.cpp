// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_latency.hpp"

#include "app/bench/bench_pair_options.hpp"
#include "app/bench/two_ends.hpp"
#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"

namespace spead::app {

namespace {

/// Declares `bench latency`: two ends.
class BenchLatencyCommand final : public CommandWith<PairOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        options_.kind = PairKind::latency;
        add_pair_options(app, options_);
        add_common_options(app, common);
    }
    void complete(Invocation&, const DefaultPort&) override { check_pair(options_); }
    int run(const Invocation& invocation) override {
        return run_two_ends(options_, invocation, bench_latency);
    }
};

}  // namespace

namespace commands {

CommandEntry bench_latency() {
    return {"bench latency",
            "Measure the round-trip time of heaps between two ends",
            {},
            make_command<BenchLatencyCommand>};
}

}  // namespace commands

}  // namespace spead::app
