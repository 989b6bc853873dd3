// SPDX-License-Identifier: BSD-3-Clause
#include "stats/engine_findings.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/counted.hpp"
#include "stats/phrases.hpp"
#include "stats/rates.hpp"

namespace spead::stats {

namespace {

/// Holds the seconds after a stall in which its effects still come: late packets, many heaps at once.
constexpr double kAfterStall = 2;

/// Returns whether packets were lost because nothing fetched them.
bool is_missed(Cause cause) {
    return cause == Cause::receive_ring_short || cause == Cause::lcore_too_slow ||
           cause == Cause::lcore_interrupted || cause == Cause::engine_too_slow;
}

/// Returns whether such a finding counts from 0 again after a while in which it did not hold.
bool begins_anew(Cause cause) {
    return cause == Cause::nothing_came || cause == Cause::place_silent;
}

/// Returns whether counters tell, once all that waited has come, how much of such a loss was the network's:
/// packets that the port missed and those that came late are no part of it.
bool is_network_loss(Cause cause) {
    return cause == Cause::network_loss || cause == Cause::cut_by_join || cause == Cause::path_silent ||
           cause == Cause::path_loss;
}

/// Returns whether an engine that stands still has such effects.
bool may_explain(Cause cause) {
    switch (cause) {
        case Cause::network_loss:
        case Cause::cut_by_join:
        case Cause::nothing_came:
        case Cause::path_silent:
        case Cause::path_loss:
        case Cause::no_buffers:
        case Cause::buffers_nearly_out:
        case Cause::late:
        case Cause::ghosts:
        case Cause::max_live_too_small:
        case Cause::pool_too_small:
        case Cause::pool_nearly_full:
        case Cause::consumer_holds_pool:
        case Cause::consumer_too_slow:
        case Cause::queue_nearly_full:
        case Cause::place_silent:
        case Cause::no_chunk:
        case Cause::send_timeout:
        case Cause::port_takes_nothing:
            return true;
        default:
            return is_missed(cause);
    }
}

}  // namespace

Cures mend_engine(std::string_view engine) {
    if (engine != "cuda")
        return {"see whether its thread runs: `ps -eLo psr,pcpu,stat,pid,comm | grep gather`",
                "keep other programs off the CPUs that no lcore has"};
    return {
        "look at the GPU: `nvidia-smi` shows the programs that hold it, and `dmesg | grep -i xid` whether it "
        "hangs",
        "end the program that holds it; if it hangs, end this run, reset it (`nvidia-smi --gpu-reset`), and "
        "start anew"};
}

std::vector<Finding> engine_findings(const EngineSnapshot& e) {
    if (e.stalled_s > 0)
        return {{Cause::engine_stalled, Stage::memory, e.where(), static_cast<std::uint64_t>(e.stalled_s),
                 "seconds",
                 fmt::format("have passed in which it moved no payload{}{}", e.streams.empty() ? "" : ": ",
                             wait_for_it(e.streams)),
                 mend_engine(e.name)}};
    if (e.stalls == 0)
        return {};
    return {{Cause::engine_stalled, Stage::memory, e.where(), e.stalls, "times",
             fmt::format("it moved no payload for a second or longer, {:.1f} s in all", e.all_stalled_s),
             mend_engine(e.name)}};
}

std::map<std::string, const EngineSnapshot*> EngineLosses::look(const Snapshot& now) {
    std::map<std::string, const EngineSnapshot*> parts;
    for (const EngineSnapshot& e : now.engines) {
        OfEngine& its = engines_[e.name];
        its.begun_anew = e.quiet_s < std::exchange(its.quiet_s, e.quiet_s);
        // One that has begun and ended since the last look counts, too: at a shutdown nobody looks for long.
        if (e.stalls > std::exchange(its.stalls, e.stalls) || e.stalled_s > 0)
            its.held_until_s = now.duration_s + kAfterStall;
        its.hold = now.duration_s <= its.held_until_s ? Hold::yes : e.quiet_s > 0 ? Hold::perhaps : Hold::no;
        if (its.hold == Hold::no)
            continue;
        for (const StreamSnapshot& s : now.streams) {
            if (std::ranges::find(e.streams, s.name) == e.streams.end())
                continue;
            parts.emplace(s.name, &e);
            for (const PortSnapshot& p : now.ports)
                if (s.comes_by(p.name))
                    parts.emplace(p.name, &e);
        }
        for (const SendSnapshot& s : now.sends)
            for (const PortSnapshot& p : now.ports)
                if (p.name == s.port && p.driver == "net_ring" && parts.contains(p.name))
                    parts.emplace(s.name, &e);
    }
    return parts;
}

/// Gives the network its losses back once nothing waits for the engine any more. A path's loss has the
/// packets that ports of its stream missed meanwhile.
void EngineLosses::let_go(const std::map<std::string, const EngineSnapshot*>& parts, const Snapshot& now) {
    for (auto& [key, known] : known_) {
        const auto& [cause, stage, where, number] = key;
        const auto part = parts.find(where);
        if (!is_network_loss(cause) ||
            (part != parts.end() && engines_[part->second->name].hold == Hold::yes))
            continue;
        std::uint64_t missed = 0;
        const StreamSnapshot* const stream = find(now.streams, where);
        if (cause == Cause::path_loss && stream != nullptr)
            for (const auto& [port, packets] : missed_)
                missed += stream->comes_by(port) ? packets : 0;
        known.hidden = std::min(known.hidden, missed);
    }
}

void EngineLosses::take_from(std::vector<Finding>& found, const Snapshot& now) {
    const std::map<std::string, const EngineSnapshot*> parts = look(now);
    let_go(parts, now);
    for (auto& [key, known] : known_)
        known.seen = false;
    for (Finding& f : found) {
        if (!may_explain(f.cause))
            continue;
        Key key{f.cause, f.stage, f.where, 0};
        while (known_[key].seen)
            std::get<unsigned>(key)++;
        Known& k = known_[key];
        k.seen = true;
        const auto part = parts.find(f.where);
        const OfEngine* const engine = part == parts.end() ? nullptr : &engines_[part->second->name];
        // A loss that is explained in another way later has shrunk.
        k.hidden = std::min(k.hidden, f.count);
        k.open = engine == nullptr || (engine->begun_anew && engine->hold == Hold::perhaps)
                     ? 0
                     : std::min(k.open, f.count - k.hidden);
        const std::uint64_t more = f.count - std::min(f.count, std::exchange(k.count, f.count));
        if (engine != nullptr && engine->hold == Hold::yes) {
            const std::uint64_t taken = std::exchange(k.open, 0) + more;
            k.hidden += taken;
            if (is_missed(f.cause))
                packets_[part->second->name] += taken;
            if (is_missed(f.cause) || f.cause == Cause::no_buffers)
                missed_[f.where] += taken;
        } else if (engine != nullptr) {
            k.open += more;
        }
        f.count -= k.hidden;
    }
    std::erase_if(known_,
                  [](const auto& k) { return !k.second.seen && begins_anew(std::get<Cause>(k.first)); });
    std::erase_if(found, [](const Finding& f) { return f.count == 0 && may_explain(f.cause); });
    for (Finding& f : found)
        for (const auto& [engine, packets] : packets_)
            if (f.cause == Cause::engine_stalled && f.where == "engine " + engine)
                f.what += fmt::format("; its ports lost {} meanwhile", counted(packets, "packets"));
}

void EngineLosses::forget(const std::vector<std::string>& names) {
    std::erase_if(known_, [&names](const auto& k) {
        return std::ranges::find(names, std::get<std::string>(k.first)) != names.end();
    });
    for (const std::string& name : names)
        missed_.erase(name);
}

}  // namespace spead::stats
