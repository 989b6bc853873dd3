// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/run_report.hpp"

#include <cstdio>

#include "app/exit_status.hpp"
#include "app/run/results_file.hpp"
#include "app/run/verdict.hpp"
#include "base/tell.hpp"
#include "observe/key_words.hpp"
#include "observe/report.hpp"

namespace spead::app {

int report_run(RunOutcome outcome, const RunOptions& options, const CommonOptions& common) {
    std::FILE* const out = common.json_path == "-" ? stderr : stdout;
    if (!common.quiet)
        tell(out, "{}",
             options.by_configuration() ? observe::with_keys(observe::report_table(outcome.last))
                                        : observe::report_table(outcome.last));
    bool good = true;
    if (options.loopback) {
        const LoopbackVerdict verdict = judge_loopback(outcome.total, outcome.reason);
        good = verdict.good;
        if (!good || !common.quiet)
            tell(good ? out : stderr, "{}\n", verdict.sentence);
    } else {
        for (std::string& problem : verification_problems(outcome.ran, outcome.total))
            outcome.problems.push_back(std::move(problem));
    }
    write_results(common.json_path, outcome.last, outcome.problems);
    for (const std::string& broken : stats::broken_identities(outcome.last))
        outcome.problems.push_back("counters do not add up: " + broken);
    std::fflush(stdout);
    for (const std::string& problem : outcome.problems)
        tell(stderr, "dpdk-spead: {}\n", problem);
    return good && outcome.problems.empty() ? kSuccess : kFailure;
}

}  // namespace spead::app
