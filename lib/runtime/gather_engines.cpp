// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/gather_engines.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "gather/cpu_engine.hpp"
#include "gather/fake_engine.hpp"
#include "runtime/layout.hpp"

namespace spead::runtime {

namespace {

constexpr std::chrono::milliseconds kPatience{2000};

}  // namespace

std::shared_ptr<gather::Engine> GatherEngines::engine(HeapEngine kind) {
    std::shared_ptr<gather::Engine>& one = engines_[kind];
    if (!one && kind == HeapEngine::fake)
        one = std::make_shared<gather::FakeEngine>(cpus_);
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
