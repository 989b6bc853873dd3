// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "memory/mapping.hpp"
#include "port/machine.hpp"
#include "runtime/lossless.hpp"
#include "runtime/paths.hpp"
#include "runtime/snapshots.hpp"

/// Adds the present settings of a run to a snapshot, so that cures name values and commands.
namespace spead::runtime {

namespace {

/// Holds the interval at which the machine is asked for what may change.
constexpr auto kMachineLook = std::chrono::seconds(1);

/// Returns a path that other programs find, too; as it is if nobody knows the present directory.
std::string absolute(const std::string& path) {
    std::error_code error;
    const std::filesystem::path found = std::filesystem::absolute(path, error);
    return error ? path : found.string();
}

/// Returns whether the start refuses the stream without the memory for all of its open heaps.
bool needs_all(const ReceivePlan& r, bool lossless) {
    return lossless && waits_for_consumer(r, lossless) && r.max_bytes != ReceivePlan{}.max_bytes;
}

stats::StreamSettings settings_of(const ReceivePlan& r, bool lossless, const std::vector<unsigned>& cpus) {
    stats::StreamSettings s;
    s.max_live = r.max_live;
    s.queue_depth = r.queue_depth;
    s.substreams = r.substreams;
    s.max_packet_size = r.max_packet_size;
    s.max_bytes = r.max_bytes;
    s.buffer_size = r.buffer_size;
    s.held_buffers = r.held_buffers;
    if (r.chunk) {
        s.chunks = r.chunk->chunks;
        s.window = r.chunk->window;
        s.max_jump = r.chunk->jump();
        s.chunk_timeout = r.chunk->timeout;
        s.chunk_patience = r.chunk->patience;
        s.placement = r.chunk->placement;
    }
    s.poll = name_of(r.poll);
    s.heap_timeout = r.timeout;
    s.path_skew = has_two_paths(r) ? r.path_skew : 0;
    s.history = r.history;
    s.history_time = r.history_time;
    s.by_program = r.sink.kind == SinkKind::user;
    s.gather_memory = r.engine == HeapEngine::none ? 0 : r.engine_memory;
    s.own_memory = !shares_heap_memory(r);
    s.needs_all = needs_all(r, lossless);
    s.is_lossless = lossless;
    s.waits = waits_for_consumer(r, lossless);
    s.file_for_each = r.sink.kind == SinkKind::file;
    if (r.sink.kind == SinkKind::dada)
        s.ring = r.sink.ring.empty() ? "dada" : r.sink.ring;
    if (has_directory(r.sink.kind))
        s.directory = absolute(directories_of(r.sink).front());
    s.cpus = cpus;
    return s;
}

/// Returns the CPUs whose lcores have no stream, no sender and no port's queue.
std::vector<unsigned> idle_cpus(const std::vector<stats::LcoreSnapshot>& lcores) {
    std::vector<unsigned> idle;
    for (const stats::LcoreSnapshot& l : lcores)
        if (l.streams.empty() && l.sends.empty() && l.ports.empty())
            idle.push_back(l.cpu);
    return idle;
}

}  // namespace

void Snapshots::add_settings(stats::Snapshot& snap) {
    look_at_machine();
    settings_.heap_memory = of_.plan.memory.heaps;
    settings_.allowed_cpus = of_.layout.allowed_cpus;
    settings_.cpus.clear();
    const std::vector<unsigned>& wanted = of_.plan.runtime.lcores;
    std::ranges::copy_if(of_.layout.allowed_cpus, std::back_inserter(settings_.cpus), [&](unsigned cpu) {
        return wanted.empty() || std::ranges::find(wanted, cpu) != wanted.end();
    });
    settings_.idle_cpus = of_.plan.runtime.live ? idle_cpus(snap.lcores) : std::vector<unsigned>();
    snap.settings = settings_;
    for (std::size_t i = 0; i < snap.streams.size(); i++) {
        const ReceivePlan& r = of_.plan.receives[i];
        const auto& cpus = of_.layout.stream_cpus;
        stats::StreamSettings& s = snap.streams[i].settings;
        s = settings_of(r, is_lossless(of_.ports, r), i < cpus.size() ? cpus[i] : std::vector<unsigned>());
        if (const auto& sink = of_.streams.current()[i]->sinks.current()) {
            const Sink::Ring ring = sink->ring();
            s.ring_blocks = ring.blocks;
            s.ring_block_bytes = ring.block_bytes;
            s.ring_readers = ring.readers;
        }
    }
}

void Snapshots::note_ended() noexcept {
    settings_.attach.clear();
    settings_.own_prompt = false;
}

void Snapshots::look_at_machine() {
    const auto time = std::chrono::steady_clock::now();
    if (time < next_look_at_machine_)
        return;
    next_look_at_machine_ = time + kMachineLook;
    settings_.memory_free = memory::available_memory();
    settings_.socket_limit = port::socket_buffer_limit();
}

}  // namespace spead::runtime
