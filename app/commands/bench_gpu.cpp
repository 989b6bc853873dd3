// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/bench_gpu.hpp"

#include "app/commands/common_options.hpp"
#include "app/commands/table.hpp"
#include "app/exit_status.hpp"
#include "base/tell.hpp"
#include "observe/report_file.hpp"

namespace spead::app {

namespace {

/// Declares `bench gpu`, which needs no EAL.
class BenchGpuCommand final : public CommandWith<GpuBenchOptions> {
  public:
    void declare(CLI::App& app, CommonOptions& common) override {
        add_gpu_options(app, options_);
        add_common_options(app, common);
    }
    void complete(Invocation&, const DefaultPort&) override { check_gpu_bench(options_); }
    int run(const Invocation& invocation) override {
        const std::string& json_path = invocation.common.json_path;
        if (invocation.common.check) {
            tell(stdout, "bench gpu starts no EAL\n");
            return kSuccess;
        }
        const FileUse report = observe::claim_report(json_path, "--json");
        observe::check_writable(json_path);
        const process::StopSignals signals;
        return bench_gpu(options_, json_path, signals);
    }
};

}  // namespace

namespace commands {

CommandEntry bench_gpu() {
    return {"bench gpu",
            "Measure the ways into a GPU's memory, against its limits",
            {},
            make_command<BenchGpuCommand>};
}

}  // namespace commands

}  // namespace spead::app
