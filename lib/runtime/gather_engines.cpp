// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/gather_engines.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <rte_mempool.h>

#include "base/error.hpp"
#include "gather/cpu_engine.hpp"
#include "gather/fake_engine.hpp"
#include "gpu/cuda_engine.hpp"
#include "gpu/pool_pages.hpp"
#include "runtime/layout.hpp"

namespace spead::runtime {

namespace {

constexpr std::chrono::milliseconds kPatience{2000};

std::shared_ptr<gather::Engine> make_cuda(const std::vector<unsigned>& cpus) {
    try {
        return std::make_shared<gpu::CudaEngine>(gpu::Context::open(gpu::Driver::load()), cpus);
    } catch (const Error& e) {
        throw_error("engine cuda",
                    "{}; or set `gather` of [receive.heaps] (--heap-memory) to none or to another engine",
                    e.what());
    }
}

}  // namespace

std::shared_ptr<gather::Engine> GatherEngines::engine(HeapEngine kind) {
    std::shared_ptr<gather::Engine>& one = engines_[kind];
    if (!one && kind == HeapEngine::fake)
        one = std::make_shared<gather::FakeEngine>(cpus_);
    else if (!one && kind == HeapEngine::cuda)
        one = make_cuda(cpus_);
    else if (!one)
        one = std::make_shared<gather::CpuEngine>(cpus_);
    return one;
}

std::shared_ptr<recv::Gathering> GatherEngines::gathering(HeapEngine kind, unsigned lcore) {
    std::shared_ptr<recv::Gathering>& one = gatherings_[{kind, lcore}];
    if (!one)
        one = std::make_shared<recv::Gathering>(engine(kind)->connect(kGatherBatches));
    return one;
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
    for (const auto& [key, gathering] : gatherings_)
        if (gathering)
            if (std::string why = gathering->channel().failure();
                !why.empty() && std::find(all.begin(), all.end(), why) == all.end())
                all.push_back(std::move(why));
    return all;
}

}  // namespace spead::runtime
