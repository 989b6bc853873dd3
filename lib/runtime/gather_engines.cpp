// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/gather_engines.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_mempool.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "gather/cpu_engine.hpp"
#include "gather/fake_engine.hpp"
#include "gpu/cuda_engine.hpp"
#include "gpu/pool_pages.hpp"
#include "runtime/layout.hpp"
#include "runtime/layout_ports.hpp"
#include "stats/engine_findings.hpp"

namespace spead::runtime {

namespace {

constexpr std::chrono::milliseconds kPatience{2000};
/// Says which part of a queue's mbufs an engine may keep that has none of its own. The others are for bursts.
constexpr std::uint32_t kBorrowedPart = 4;

std::shared_ptr<gather::Engine> make_cuda(const std::vector<unsigned>& cpus) {
    try {
        return std::make_shared<gpu::CudaEngine>(gpu::Context::open(gpu::Driver::load()), cpus);
    } catch (const Error& e) {
        throw_error("engine cuda",
                    "{}; or set `gather` of [receive.heaps] (--heap-memory) to none or to another engine",
                    e.what());
    }
}

/// Returns the batches that an engine has to move; 1 for one that has failed: it stands still for good.
std::uint64_t batches_left(const gather::Channel& channel, bool failed) {
    if (failed)
        return 1;
    return channel.state() == gather::Channel::State::running ? channel.in_flight() : 0;
}

}  // namespace

GatherEngines::~GatherEngines() {
    // Each that stands still would be waited for again.
    if (!stopped_)
        static_cast<void>(stop());
}

std::shared_ptr<gather::Engine> GatherEngines::engine(HeapEngine kind) {
    std::shared_ptr<gather::Engine>& one = engines_[kind];
    if (!one && kind == HeapEngine::fake)
        one = std::make_shared<gather::FakeEngine>(cpus_);
    else if (!one && kind == HeapEngine::cuda)
        one = make_cuda(cpus_);
    else if (!one)
        one = std::make_shared<gather::CpuEngine>(cpus_);
    watches_.try_emplace(kind, std::string(one->name()));
    return one;
}

void GatherEngines::give_memory(const Plan& plan, port::PlannedPort& port) {
    if (!port.device.split)
        return;
    if (const HeapEngine kind = payload_engine(plan, port.request.name); kind != HeapEngine::none)
        port.payload_engine = engine(kind);
}

void GatherEngines::check_memory(const port::PlannedPort& port, HeapEngine kind) const {
    if (!port.device.split)
        return;
    const auto its = engines_.find(kind);
    if (its != engines_.end() && its->second == port.payload_engine)
        return;
    throw_error(
        port::where(port.request),
        "it splits packets into the memory of the engine `{}`, which all of its streams need; give it to "
        "the stream (`gather`, --heap-memory), or start the program anew",
        port.payload_engine->name());
}

/// Forgets the gatherings that no lane and no lcore has any more, so that others get their mbufs.
void GatherEngines::let_unused_go() {
    std::erase_if(gatherings_, [](const auto& entry) {
        const std::shared_ptr<recv::Gathering>& one = entry.second.gathering;
        return one.use_count() == 1 && !one->channel().has_failed() && one->finish(rte_rdtsc());
    });
}

/// Takes the share of a port's mbufs. Returns how many the gathering may keep of them.
std::uint32_t GatherEngines::share_out(Use& use, const port::PlannedPort& port) {
    std::uint32_t& share = use.shares[port.request.name];
    share = 0;
    // Its packets lie in the buffers of senders.
    if (port.device.capabilities.receives_own && !port.device.split)
        return kGatheredPackets;
    std::uint32_t taken = 0;
    for (const auto& [key, other] : gatherings_)
        if (const auto its = other.shares.find(port.request.name); its != other.shares.end())
            taken += its->second;
    share = std::min(kGatheredPackets,
                     port.request.gathered_mbufs - std::min(taken, port.request.gathered_mbufs));
    if (share == kGatheredPackets)
        return share;
    const std::uint32_t borrowed =
        std::max<std::uint32_t>(2 * recv::Gathering::kBurst, port.device.rx.descriptors / kBorrowedPart);
    return std::max(share, borrowed);
}

void GatherEngines::limit(recv::Gathering& gathering, std::uint32_t most, const std::string& port) {
    if (most >= kGatheredPackets || most >= gathering.most())
        return;
    gathering.set_most(most);
    log_warning(LogType::runtime,
                "port {}: its receive buffers were counted without this engine, which may have {} of its {} "
                "packets at a time: more wait in the port's queue (gather_full); start the program with "
                "`gather` in the stream's configuration",
                port, most, kGatheredPackets);
}

std::shared_ptr<recv::Gathering> GatherEngines::gathering(HeapEngine kind, unsigned lcore,
                                                          const port::PlannedPort& port) {
    let_unused_go();
    Use& use = gatherings_[{kind, lcore}];
    if (!use.gathering)
        use.gathering = std::make_shared<recv::Gathering>(engine(kind)->connect(kGatherBatches));
    limit(*use.gathering, share_out(use, port), port.request.name);
    return use.gathering;
}

bool GatherEngines::any_stalled() const noexcept {
    return std::ranges::any_of(watches_, [](const auto& one) { return one.second.stalled(); });
}

void GatherEngines::need_moving(HeapEngine kind) const {
    const auto its = watches_.find(kind);
    if (its == watches_.end() || !its->second.stalled())
        return;
    const stats::EngineSnapshot engine = its->second.snapshot();
    throw_error(engine.where(), "it stands still, and takes no stream until it moves payload again; {}",
                stats::mend_engine(engine.name).front());
}

void GatherEngines::watch(std::chrono::steady_clock::time_point now) {
    for (auto& [kind, watch] : watches_) {
        EngineWatch::Clock::duration longest{0};
        bool any_failed = false;
        for (auto& [key, use] : gatherings_)
            if (key.first == kind && use.gathering) {
                const gather::Channel& channel = use.gathering->channel();
                const bool failed = channel.has_failed() || channel.state() == gather::Channel::State::failed;
                longest =
                    std::max(longest, use.watch.look(channel.done(), batches_left(channel, failed), now));
                any_failed |= failed;
            }
        const EngineWatch::News news = watch.update(longest, any_failed);
        if (news != EngineWatch::News::none && on_stall_)
            on_stall_(kind, news == EngineWatch::News::stalled, watch);
    }
}

void GatherEngines::end_fetches() {
    for (const auto& [kind, engine] : engines_)
        if (engine)
            engine->end_fetches();
}

void GatherEngines::register_packets(const std::vector<memory::Region>& regions) {
    if (!know_memory())
        return;
    std::vector<rte_mempool*> pools;
    rte_mempool_walk(
        [](rte_mempool* pool, void* all) { static_cast<std::vector<rte_mempool*>*>(all)->push_back(pool); },
        &pools);
    gather::Engine& engine = *engines_.at(HeapEngine::cuda);
    for (const std::span<std::byte> pages : gpu::pages_of(pools))
        engine.register_packets(pages);
    // Senders over a ring have their payload there, and no packet pool has it. Pinned memory may be known to
    // the driver already.
    for (const memory::Region& region : regions)
        if (region.kind == memory::MemoryKind::host)
            engine.register_packets({region.base, region.length});
}

std::vector<std::string> GatherEngines::stop() {
    stopped_ = true;
    std::vector<std::string> stuck;
    for (const auto& [kind, engine] : engines_)
        if (engine && !engine->stop(kPatience))
            stuck.push_back(
                fmt::format("the engine `{}` stands still: the memory that it may still write, and the "
                            "packets that it has, stay allocated",
                            engine->name()));
    return stuck;
}

std::vector<std::string> GatherEngines::failures() const {
    std::vector<std::string> all;
    for (const auto& [key, use] : gatherings_)
        if (use.gathering)
            if (std::string why = use.gathering->channel().failure();
                !why.empty() && std::find(all.begin(), all.end(), why) == all.end())
                all.push_back(std::move(why));
    return all;
}

}  // namespace spead::runtime
