// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/engine_process.hpp"

#include <rte_mempool.h>

#include "base/log.hpp"

namespace spead::app {

namespace {

/// Limits how long `show` commands wait for the main thread.
constexpr std::chrono::seconds kLookPatience{2};

}  // namespace

std::shared_ptr<const stats::Snapshot> EngineProcess::recent() {
    const stats::LatestSnapshot::View view = latest_.look();
    return view.earlier ? view.earlier.snapshot : view.latest.snapshot;
}

runtime::Plan EngineProcess::ask_for_plan(std::chrono::nanoseconds patience) {
    runtime::Plan plan = run_.on_engine([](auto& engine) { return engine.plan(); }, patience);
    const std::lock_guard lock(mutex_);
    known_ = plan;
    return plan;
}

runtime::Plan EngineProcess::plan() {
    return ask_for_plan(runtime::Executor::kPatience);
}

runtime::Plan EngineProcess::known_plan() {
    try {
        return ask_for_plan(kLookPatience);
    } catch (const runtime::Busy&) {
        const std::lock_guard lock(mutex_);
        return known_;
    }
}

Process::Seen EngineProcess::seen() {
    try {
        return {run_.on_engine([](auto& engine) { return engine.snapshot(); }, kLookPatience), 0};
    } catch (const runtime::Busy&) {
        const stats::LatestSnapshot::View view = latest_.look();
        if (!view)
            throw;
        return {*view.latest.snapshot, std::chrono::duration<double>(view.age).count()};
    }
}

stats::Snapshot EngineProcess::snapshot() {
    return run_.on_engine([](auto& engine) { return engine.snapshot(); });
}

void EngineProcess::change(const std::function<runtime::Plan(const runtime::Plan&)>& edit) {
    run_.on_engine([&](auto& engine) {
        // Worked out here, so that two who type at once do not undo each other's change.
        const runtime::Plan wanted = edit(engine.plan());
        engine.reconfigure(wanted);
    });
}

void EngineProcess::end() {
    // Even if the main thread is busy: a program that is asked to end must not go on.
    run_.executor().post([this] { run_.engine().interrupt(); });
}

void EngineProcess::log_level(const std::string& text) {
    run_.executor().call([&] { set_log_level(text, "log level"); });
}

std::vector<std::vector<stats::RuleSnapshot>> EngineProcess::rules() {
    return run_.on_engine([](auto& engine) { return engine.rules(); });
}

std::vector<std::pair<std::string, std::uint64_t>> EngineProcess::xstats(const std::string& port) {
    return run_.on_engine([&](auto& engine) { return engine.xstats(port); });
}

void EngineProcess::stop_port(const std::string& port) {
    run_.on_engine([&](auto& engine) { engine.stop_port(port); });
}

void EngineProcess::start_port(const std::string& port) {
    run_.on_engine([&](auto& engine) { engine.start_port(port); });
}

void EngineProcess::start_capture(const std::string& stream, const capture::Options& options) {
    run_.on_engine([&](auto& engine) { engine.start_capture(stream, options); });
}

stats::CaptureSnapshot EngineProcess::stop_capture(const std::string& stream) {
    const std::uint64_t number = run_.on_engine([&](auto& engine) { return engine.stop_capture(stream); });
    return run_.executor().until([&] { return run_.engine().stopped_capture(number); });
}

send::DummyResult EngineProcess::dummy(const std::string& send, std::uint32_t packets) {
    return run_.on_engine([&](auto& engine) { return engine.dummy(send, packets); });
}

std::vector<Process::Pool> EngineProcess::pools() {
    // Pools come and go with streams, on the main thread.
    return run_.executor().call([] {
        std::vector<Pool> pools;
        rte_mempool_walk(
            [](rte_mempool* pool, void* list) {
                static_cast<std::vector<Pool>*>(list)->push_back(
                    {pool->name, pool->size, rte_mempool_in_use_count(pool),
                     std::uint64_t{pool->elt_size} + pool->header_size + pool->trailer_size});
            },
            &pools);
        return pools;
    });
}

}  // namespace spead::app
