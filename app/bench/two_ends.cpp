// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/two_ends.hpp"

#include "app/exit_status.hpp"
#include "base/file_use.hpp"
#include "base/tell.hpp"
#include "observe/report_file.hpp"

namespace spead::app {

int run_two_ends(const PairOptions& options, const Invocation& invocation, MeasurePair measure) {
    const CommonOptions& common = invocation.common;
    if (common.check) {
        tell(stdout, "{}", describe_pair(options, invocation.eal_args));
        return kSuccess;
    }
    if (!options.server.empty()) {
        const PairOutcome outcome = serve_pair(options, invocation.eal_args);
        return outcome.interrupted ? kFailure : kSuccess;
    }
    const FileUse report = observe::claim_report(common.json_path, "--json");
    const FileUse histogram = observe::claim_report(options.histogram_path, "--histogram");
    observe::check_writable(common.json_path);
    observe::check_writable(options.histogram_path);
    return measure(options, invocation.eal_args, common.json_path, common.quiet);
}

}  // namespace spead::app
