// SPDX-License-Identifier: BSD-3-Clause
#include "spead/chunk_stream.hpp"

#include <utility>

#include <fmt/core.h>

#include "base/current_reason.hpp"
#include "base/empty.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/tick_rate.hpp"
#include "spead/main_thread.hpp"
#include "spead/placement_access.hpp"
#include "spead/plan_edits.hpp"
#include "spead/reader_source.hpp"
#include "spead/recv_plan.hpp"

/// Implements streams that fill a user's chunks: an edit of the session's plan, or a receiver without one.
namespace spead {

namespace {

double seconds(std::chrono::nanoseconds d, const char* name, const std::string& where) {
    if (d.count() < 0)
        throw_usage(where, "`{}` is negative; give a time, or 0 for none", name);
    return std::chrono::duration<double>(d).count();
}

void refuse_heaps(const RecvConfig& c, const std::string& where) {
    if (c.lend != 0)
        throw_usage(where, "`lend` is {}, and chunks are copies; leave it out", c.lend);
    if (c.control_heaps)
        throw_usage(where, "`control_heaps` are set, and chunks have none; leave it out");
    if (c.on_full == OnFull::drop_oldest)
        throw_usage(where,
                    "`on_full` is drop_oldest, which drops waiting heaps, and the stream has chunks; "
                    "give drop_newest or block");
}

/// Throws UsageError for a callback that no lane could have.
const chunk::PlaceCallback& checked(const chunk::PlaceCallback& c) {
    stats::CallbackCounts counts;
    static_cast<void>(chunk::CallbackMap(c, counts));
    return c;
}

runtime::ReceivePlan plan_of(const RecvConfig& config, const door::Placing& placing, std::size_t chunks,
                             const ChunkConfig& c) {
    const std::string where = door::where_of("receive", config.name);
    refuse_heaps(config, where);
    runtime::ReceivePlan r = door::plan_of(config);
    // No heap has memory of its own. The least that a lane can have:
    r.max_bytes = 4096;
    r.memory = 4096;
    runtime::ChunkPlan& plan = r.chunk.emplace();
    if (placing.placement)
        plan.placement = placing.placement->text();
    plan.by_callback = !placing.placement;
    // Loose chunks are not counted.
    plan.chunks = static_cast<std::uint32_t>(chunks != 0 ? chunks : std::size_t{c.window} + 1);
    plan.window = c.window;
    plan.eviction = c.eviction == Eviction::lossless ? chunk::Eviction::lossless : chunk::Eviction::lossy;
    plan.timeout = seconds(c.timeout, "timeout", where);
    plan.patience = seconds(c.patience, "patience", where);
    plan.max_jump = c.max_jump;
    plan.back_fill = c.back_fill;
    return r;
}

ChunkStats stats_of(const stats::StreamSnapshot& s, double ticks_per_second) {
    const auto of = [&s](PacketOutcome o) { return s.packets[static_cast<std::size_t>(o)]; };
    using enum PacketOutcome;
    ChunkStats r;
    r.packets = s.received;
    r.packets_placed = of(placed);
    r.packets_duplicate = of(duplicate) + of(redundant);
    r.packets_late = of(late);
    r.packets_future = of(future);
    r.packets_no_chunk = of(no_chunk);
    r.packets_no_memory = of(no_memory);
    r.packets_filtered = of(filtered);
    r.packets_held = of(held);
    r.held_now = s.held_now;
    r.hold_refused = s.hold_refused;
    r.packets_control = of(control);
    r.packets_stopped = of(stopped);
    r.packets_captured = of(captured) + of(capture_full);
    r.packets_rejected = of(malformed) + of(oversize) + of(heap_too_big) + of(inconsistent) +
                         of(out_of_order) + of(no_item) + of(bad_length) + of(bad_step) + of(out_of_range) +
                         of(rejected) + of(invalid) + of(header_in_device);
    r.bytes = s.bytes;
    const stats::ChunkCounts& c = s.chunks;
    door::set_chunks(c, r);
    r.callback_calls = c.callback_calls;
    r.callback_heaps = c.callback_heaps;
    if (ticks_per_second > 0)
        r.callback_time = std::chrono::nanoseconds(
            static_cast<std::int64_t>(static_cast<double>(c.callback_cycles) * 1e9 / ticks_per_second));
    r.callback_rejected = c.callback_rejected;
    r.callback_nonsense = c.callback_nonsense;
    r.heaps_late = c.heaps_late;
    r.heaps_evicted = s.heaps_ended[static_cast<std::size_t>(HeapEnd::evicted)] +
                      s.heaps_ended[static_cast<std::size_t>(HeapEnd::timed_out)];
    r.heaps_flushed = s.heaps_ended[static_cast<std::size_t>(HeapEnd::flushed)];
    return r;
}

/// Returns what counts a stream among the producers of its queue; null: there is none.
std::shared_ptr<door::LooseProducer> producer_of(const door::KeptChunks& kept) {
    const std::shared_ptr<chunk::ChunkQueue>& queue = kept.chunks->ring().loose_data();
    return queue ? std::make_shared<door::LooseProducer>(queue) : nullptr;
}

}  // namespace

void door::set_chunks(const stats::ChunkCounts& c, ChunkStats& to) {
    to.chunks_opened = c.opened;
    to.chunks_handed_over = c.handed_over;
    to.chunks_timed_out = c.timed_out;
    to.chunks_skipped = c.skipped;
    to.resyncs = c.resyncs;
}

/// Sets what the user has taken, which the session does not see after a stop.
void door::set_taken(const stats::ChunkCounts& c, ChunkStats& to) {
    to.chunks_taken = c.taken;
    to.chunks_complete = c.complete;
    to.heaps_present = c.heaps_present;
    to.heaps_expected = c.heaps_expected;
    to.doubled = c.doubled;
}

std::optional<ChunkStats> door::chunk_stats_in(const stats::Snapshot& snap, const std::string& name) {
    for (const stats::StreamSnapshot& s : snap.streams)
        if (s.name == name) {
            ChunkStats r = stats_of(s, snap.ticks_per_second);
            for (const auto& port : snap.ports)
                if (port.name == s.port)
                    r.packets_lost = port.nic.missed;
            return r;
        }
    return std::nullopt;
}

door::Placing::Placing(const Placement& p) : placement(PlacementAccess::placement(p)), shape(*placement) {}

door::Placing::Placing(const PlaceCallback& c)
    : stats(stats_for(c)), make_callback(place_maker(c, stats)), shape(checked(make_callback())) {}

ChunkStream::State::State(std::shared_ptr<door::Session> s, const RecvConfig& config,
                          const door::Placing& placing, std::shared_ptr<door::KeptChunks> ring,
                          const ChunkConfig& chunks, std::shared_ptr<door::SharedChunks> of_group)
    : kept(std::move(ring)),
      session(std::move(s)),
      shared(std::move(of_group)),
      totals(shared ? shared->totals : std::make_shared<runtime::UserChunks::Totals>()),
      producer(producer_of(*kept)),
      callback_stats(placing.stats) {
    const std::string about = door::where_of("receive", config.name);
    door::about(about, [&] { kept->chunks->check(placing.shape, chunks.window, chunks.back_fill); });
    door::StreamHooks hooks;
    hooks.chunks = use_of(placing, chunks.stream);
    if (config.packet_filter)
        hooks.make_filter = [make = config.packet_filter](const runtime::ReceivePlan& r) {
            return door::make_user_filter(r.name, make);
        };
    name = session->add(plan_of(config, placing, kept->chunks->ring().chunks(), chunks), config.interface,
                        std::move(hooks));
}

ChunkStream::State::State(const RecvConfig& config, const Reader& reader, const door::Placing& placing,
                          std::shared_ptr<door::KeptChunks> ring, const ChunkConfig& chunks,
                          std::shared_ptr<door::SharedChunks> of_group)
    : kept(std::move(ring)),
      shared(std::move(of_group)),
      totals(shared ? shared->totals : std::make_shared<runtime::UserChunks::Totals>()),
      producer(producer_of(*kept)),
      callback_stats(placing.stats),
      has_destinations(reader.source().needs_endpoints) {
    const RecvConfig whole = door::complete_local(config, reader);
    door::about(door::where_of("receive", whole.name),
                [&] { kept->chunks->check(placing.shape, chunks.window, chunks.back_fill); });
    const runtime::ReceivePlan plan = plan_of(whole, placing, kept->chunks->ring().chunks(), chunks);
    name = plan.name;
    door::LocalReceiver::Parts parts = door::local_parts(plan, whole, reader);
    parts.chunks = use_of(placing, chunks.stream);
    parts.of_group = shared ? shared->mutex : nullptr;
    local = std::make_shared<door::LocalReceiver>(plan, std::move(parts));
}

runtime::UserChunks::Use ChunkStream::State::use_of(const door::Placing& placing, std::uint32_t tag) const {
    runtime::UserChunks::Use use{
        kept->chunks, tag, totals, placing.make_callback, shared ? shared->group : nullptr, open, {}};
    if (producer)
        use.at_end = [p = producer] { p->end(); };
    return use;
}

ChunkStream::State::~State() {
    if (session && is_own())
        session->remove(name);
}

std::unique_ptr<ChunkStream::State> ChunkStream::State::make(const std::shared_ptr<door::Session>& session,
                                                             const RecvConfig& config,
                                                             const door::Placing& placing,
                                                             std::shared_ptr<door::KeptChunks> ring,
                                                             const ChunkConfig& chunks) {
    if (config.backend == Backend::kernel)
        return std::make_unique<State>(config, Reader::sockets(), placing, std::move(ring), chunks);
    return std::make_unique<State>(session, config, placing, std::move(ring), chunks);
}

void ChunkStream::State::end_if_idle() const noexcept {
    kept->end_if_idle();
    if (producer && open->load() == 0)
        producer->end();
}

ChunkStream::State& ChunkStream::State::of(const std::unique_ptr<State>& state) {
    if (!state)
        throw_usage("stream", "it was moved to another variable; use that one");
    door::need_own_process(state->where(), state->is_own());
    return *state;
}

ChunkStream::ChunkStream(const Process& process, const RecvConfig& config, const Placement& placement,
                         ChunkRing& ring, const ChunkConfig& chunks)
    : state_(State::make(process.session_, config, door::Placing(placement),
                         ChunkRing::State::of(ring.state_).kept, chunks)) {}
ChunkStream::ChunkStream(const Process& process, const RecvConfig& config, const PlaceCallback& callback,
                         ChunkRing& ring, const ChunkConfig& chunks)
    : state_(State::make(process.session_, config, door::Placing(callback),
                         ChunkRing::State::of(ring.state_).kept, chunks)) {}
ChunkStream::ChunkStream(const RecvConfig& config, const Placement& placement, ChunkRing& ring,
                         const ChunkConfig& chunks)
    : ChunkStream(door::need_kernel_backend(config), Reader::sockets(), placement, ring, chunks) {}
ChunkStream::ChunkStream(const RecvConfig& config, const PlaceCallback& callback, ChunkRing& ring,
                         const ChunkConfig& chunks)
    : ChunkStream(door::need_kernel_backend(config), Reader::sockets(), callback, ring, chunks) {}
ChunkStream::ChunkStream(const RecvConfig& config, const Reader& reader, const Placement& placement,
                         ChunkRing& ring, const ChunkConfig& chunks)
    : state_(std::make_unique<State>(config, reader, door::Placing(placement),
                                     ChunkRing::State::of(ring.state_).kept, chunks)) {}
ChunkStream::ChunkStream(const RecvConfig& config, const Reader& reader, const PlaceCallback& callback,
                         ChunkRing& ring, const ChunkConfig& chunks)
    : state_(std::make_unique<State>(config, reader, door::Placing(callback),
                                     ChunkRing::State::of(ring.state_).kept, chunks)) {}
ChunkStream::ChunkStream(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
ChunkStream::ChunkStream(ChunkStream&&) noexcept = default;
ChunkStream& ChunkStream::operator=(ChunkStream&&) noexcept = default;
ChunkStream::~ChunkStream() = default;

const std::string& ChunkStream::name() const noexcept {
    return state_ ? state_->name : empty_of<std::string>();
}

void ChunkStream::start() {
    const State& s = State::of(state_);
    s.kept->given_up = false;
    if (s.local) {
        s.local->start();
        return;
    }
    // One that a stop item or the end of its source has ended gets a new window.
    if (s.open->load() == 0)
        s.enable(false);
    s.enable(true);
}

void ChunkStream::stop() noexcept {
    if (!state_ || !state_->is_own())
        return;
    if (state_->local) {
        state_->local->stop();
        state_->end_if_idle();
        return;
    }
    try {
        state_->enable(false);
        state_->end_if_idle();
    } catch (const door::Ending&) {
        state_->session->wait_for_end();
    } catch (...) {
        log_error(LogType::runtime, "{}: it could not be stopped, and receives on: {}", state_->where(),
                  reason_of_current());
    }
}

void ChunkStream::add_reader(const Reader& reader) {
    const State& s = State::of(state_);
    if (!s.local)
        throw_usage(s.where(), "it receives from a port; readers are for streams without one");
    s.local->add_reader(door::one_more(reader, s.where(), s.has_destinations));
}

bool ChunkStream::idle() const noexcept {
    return !state_ || state_->open->load() == 0;
}

std::vector<std::uint64_t> ChunkStream::callback_stats() const {
    const State& s = State::of(state_);
    return s.callback_stats ? s.callback_stats->values() : std::vector<std::uint64_t>();
}

ChunkStats ChunkStream::stats() const {
    State& s = State::of(state_);
    // Before the others: so no more are taken than were handed over.
    stats::ChunkCounts taken;
    s.totals->tally.tell(taken, 0);
    std::optional<ChunkStats> now;
    if (s.local) {
        const door::LocalReceiver::Counts counts = s.local->counts();
        ChunkStats all = stats_of(counts.stream, ticks_per_second());
        all.packets_lost = counts.lost;
        all.bursts = counts.work.bursts;
        all.largest_burst = counts.work.largest;
        all.blocked = counts.work.blocked;
        if (s.shared)
            door::set_chunks(s.shared->group->counts(), all);
        door::set_taken(taken, all);
        return all;
    }
    try {
        now = s.session->on_engine(
            [&s](runtime::Engine& engine) { return door::chunk_stats_in(engine.snapshot(), s.name); });
    } catch (const door::Ending&) {
        if (!s.session->wait_for_end())
            throw;
        now = door::chunk_stats_in(s.session->last_snapshot(), s.name);
    }
    const std::lock_guard lock(s.mutex);
    if (now)
        s.last = *now;
    ChunkStats all = s.last;
    if (s.shared)
        door::set_chunks(s.shared->group->counts(), all);
    door::set_taken(taken, all);
    return all;
}

}  // namespace spead
