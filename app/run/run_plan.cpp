// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/run_plan.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "app/exit_status.hpp"
#include "app/run/engine_run.hpp"
#include "app/run/prepared_run.hpp"
#include "app/run/run_views.hpp"
#include "base/error.hpp"
#include "base/file_use.hpp"
#include "base/log.hpp"
#include "base/tell.hpp"
#include "observe/api_access.hpp"
#include "observe/metrics.hpp"
#include "observe/report_file.hpp"
#include "runtime/event_command.hpp"
#include "runtime/layout_busy.hpp"
#include "runtime/stored_stream.hpp"

namespace spead::app {

namespace {

/// Claims an input file, so that no output overwrites it.
FileUse claim_input(const std::string& path, FileUse::Way way, const std::string& option) {
    return path.empty() ? FileUse() : FileUse::planned(path, way, option + " reads", option);
}

void check_readable(const std::string& path) {
    if (!path.empty() && !std::ifstream(path))
        throw_error(path, "cannot read the commands: {}", std::strerror(errno));
}

void check_token(const runtime::RuntimePlan& plan) {
    if (plan.api_token_file.empty())
        return;
    if (!plan.metrics)
        throw_usage("api_token_file",
                    "the API has no address; give `metrics` too (--metrics 9100), or leave the token out");
    const observe::ApiToken token(plan.api_token_file);
}

/// Refuses a run whose files and programs are absent. Changes nothing, and takes nothing that a run has.
void check_inputs(const RunOptions& options) {
    check_token(options.plan.runtime);
    check_readable(options.cmdline_file);
    if (!options.plan.runtime.on_event.empty())
        const runtime::EventCommand command(options.plan.runtime.on_event);
}

/// Refuses stored heaps that cannot be sent. A run finds that out by itself.
void check_stored_heaps(const runtime::Plan& plan) {
    for (const runtime::SendPlan& send : plan.sends)
        if (!send.from.empty())
            runtime::StoredStream::open(send.from, wire::Flavour(send.address_bits))->check();
}

/// Refuses before EAL starts a run that would fail after it.
void check_run(const RunOptions& options, const CommonOptions& common) {
    observe::check_writable(common.json_path);
    if (options.plan.runtime.metrics)
        observe::check_metrics(*options.plan.runtime.metrics);
}

}  // namespace

int run_plan(const RunOptions& options, const Invocation& invocation) {
    const CommonOptions& common = invocation.common;
    // A shard that saved its own plan there would take their endpoints from the others.
    const FileUse configuration = claim_input(
        options.config_path, options.shard ? FileUse::Way::read : FileUse::Way::read_anew, "--config");
    const FileUse commands = claim_input(options.cmdline_file, FileUse::Way::read, "--cmdline-file");
    const FileUse token =
        claim_input(options.plan.runtime.api_token_file, FileUse::Way::read, "--api-token-file");
    const FileUse report = observe::claim_report(common.json_path, "--json");
    PreparedRun prepared(options, invocation.eal_args);
    check_inputs(options);
    if (common.check) {
        check_stored_heaps(options.plan);
        tell(stdout, "{}", describe_run(prepared, options.plan));
        return kSuccess;
    }
    check_run(options, common);
    RunChannels channels(options);
    prepared.run.start_eal();
    for (const std::string& warning : runtime::busy_warnings(prepared.run.plan(), prepared.run.layout()))
        log_warning(LogType::app, "{}", warning);
    for (const std::string& remark : prepared.run.layout().remarks)
        log_notice(LogType::app, "{}", remark);
    RunViews views(options.plan, prepared.run.layout());
    RunOutcome outcome = EngineRun(options, common, prepared.run, channels, views).go();
    return report_run(std::move(outcome), options, common);
}

}  // namespace spead::app
