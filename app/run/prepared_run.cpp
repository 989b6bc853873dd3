// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/prepared_run.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/error.hpp"
#include "config/shards.hpp"
#include "runtime/descriptors.hpp"
#include "runtime/lossless.hpp"

namespace spead::app {

namespace {

runtime::Plan plan_of(const RunOptions& options) {
    runtime::Plan plan = options.plan;
    plan.runtime.live |= options.wants_control();
    return plan;
}

/// Returns the file descriptors that a run opens, generously; those of clients are limited by their
/// listeners.
std::size_t descriptors_for(const runtime::Plan& plan, const runtime::Layout& layout) {
    constexpr std::size_t kProgram = 64;
    constexpr std::size_t kPort = 16;
    constexpr std::size_t kStreamOnLcore = 2;
    constexpr std::size_t kChunks = 2;  // the ring's event, and the file that is written
    std::size_t n = kProgram + kPort * plan.ports.size() + 2 * layout.workers.size();
    for (const runtime::ReceivePlan& r : plan.receives)
        n += kStreamOnLcore * layout.workers.size() + (r.capture ? r.capture->files.size() : 0) +
             (r.chunk ? kChunks : 0) + 1;
    // Where endpoints are steered by sockets, each has one.
    for (const runtime::PortRule& r : layout.rules)
        n += layout.ports[r.port].device.capabilities.steering == port::Steering::sockets ? 1 : 0;
    return n;
}

std::string as_comments(const std::string& text) {
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        out += "# " + text.substr(at, end - at) + '\n';
        at = end + 1;
    }
    return out;
}

}  // namespace

PreparedRun::PreparedRun(const RunOptions& options, const std::vector<std::string>& eal_args)
    : eal(runtime::EalOptions::parse(eal_args)), run(plan_of(options), eal) {
    const runtime::Plan& plan = run.plan();
    runtime::Layout& layout = run.layout();
    // Packets within one process are ours, and no more of them are in flight than there is memory for.
    if (!options.loopback) {
        if (const std::string why = runtime::why_not_lossless(plan, layout); !why.empty())
            throw UsageError(why);
        for (std::string& remark : runtime::what_may_be_lost(plan, layout))
            layout.remarks.push_back(std::move(remark));
    }
    runtime::need_descriptors(descriptors_for(plan, layout));
}

std::string describe_run(const PreparedRun& prepared, const runtime::Plan& typed) {
    return fmt::format("{}\n{}", config::own_file(typed),
                       as_comments(runtime::describe(prepared.run.layout(), typed)));
}

}  // namespace spead::app
