// SPDX-License-Identifier: BSD-3-Clause
#include <rte_ethdev.h>

#include "base/error.hpp"
#include "runtime/engine_state.hpp"

/// What the control world asks of a running engine.
namespace spead::runtime {

const Plan& Engine::plan() const noexcept {
    return state_->plan;
}

void Engine::serve(Executor& executor) noexcept {
    state_->executor = &executor;
}

void Engine::stay() noexcept {
    state_->ends.stay();
}

void Engine::interrupt() noexcept {
    state_->interrupted = true;
    state_->lcores.end_soon();
}

send::DummyResult Engine::dummy(const std::string& send, std::uint32_t packets) {
    for (const auto& s : state_->senders.planned())
        if (s->plan.name == send) {
            state_->lcores.need_answers();
            return state_->lcores.ask(
                *s->worker, [](send::Sender* sender, std::uint32_t n) { return sender->dummy(n); },
                s->sender.get(), packets);
        }
    throw_error("send", "there is no sender `{}`", send);
}

void Engine::add_region(const memory::Region& region) {
    state_->senders.add_region(region);
}

void Engine::remove_region(const std::byte* base) {
    state_->senders.remove_region(base);
}

std::vector<std::vector<stats::RuleSnapshot>> Engine::rules() const {
    return state_->ports.rules();
}

std::vector<std::pair<std::string, std::uint64_t>> Engine::xstats(const std::string& port) const {
    const State& s = *state_;
    const std::size_t i = s.ports.index_of(port);
    if (i == s.ports.size())
        throw_error("port", "there is no port `{}`", port);
    const std::uint16_t id = s.ports[i].device().port_id();
    const int count = rte_eth_xstats_get_names(id, nullptr, 0);
    if (count <= 0)
        return {};
    std::vector<rte_eth_xstat_name> names(static_cast<std::size_t>(count));
    std::vector<rte_eth_xstat> values(names.size());
    if (rte_eth_xstats_get_names(id, names.data(), static_cast<unsigned>(count)) != count ||
        rte_eth_xstats_get(id, values.data(), static_cast<unsigned>(count)) != count)
        return {};
    std::vector<std::pair<std::string, std::uint64_t>> all;
    for (const rte_eth_xstat& value : values)
        if (value.id < names.size())
            all.emplace_back(names[value.id].name, value.value);
    return all;
}

stats::Snapshot Engine::snapshot() {
    return state_->snapshots.since_cleared(state_->snapshots.take_detailed());
}

void Engine::clear() {
    State& s = *state_;
    s.lcores.need_answers();
    s.snapshots.clear();
    s.streams.forget_times();
}

stats::Snapshot Engine::totals() {
    return state_->snapshots.take();
}

}  // namespace spead::runtime
