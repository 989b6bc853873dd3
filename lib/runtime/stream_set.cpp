// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stream_set.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "base/log.hpp"
#include "base/tick_rate.hpp"
#include "port/buffer_loans.hpp"
#include "recv/filter_expression.hpp"
#include "runtime/lossless.hpp"

/// Holds the streams of a run: their lanes on lcores, and the sources of their packets.
namespace spead::runtime {

namespace {

std::uint64_t ticks(double s) {
    return static_cast<std::uint64_t>(s * ticks_per_second());
}

heap::FullPolicy on_full(const ReceivePlan& r, bool lossless) {
    if (waits_for_consumer(r, lossless))
        return heap::FullPolicy::block;
    return r.on_full == OnFullSetting::drop_oldest ? heap::FullPolicy::drop_oldest
                                                   : heap::FullPolicy::drop_newest;
}

}  // namespace

recv::LaneConfig lane_config(const ReceivePlan& r, const std::vector<PathEndpoint>& places, bool lossless) {
    recv::LaneConfig c;
    c.name = r.name;
    for (const PathEndpoint& e : places)
        c.endpoints.push_back(e.endpoint);
    c.max_packet_size = r.max_packet_size;
    c.queue_heaps = r.queue_depth;
    c.copy = r.copy;
    c.window.substreams = r.substreams;
    c.window.max_live = r.max_live;
    c.window.max_heap_bytes = r.max_bytes;
    c.window.history = r.history;
    c.window.history_ticks = ticks(r.history_time);
    c.window.timeout_ticks = r.timeout > 0 ? std::max<std::uint64_t>(1, ticks(r.timeout)) : 0;
    c.window.in_order = r.in_order;
    c.window.guarded = true;
    c.window.stop_on_stop_item = r.stop_on_stop_item;
    c.window.control_heaps = r.control_heaps;
    c.window.redundant = has_two_paths(r);
    c.window.on_full = on_full(r, lossless);
    if (!r.format.empty())
        c.format = wire::PacketFormat::parse(r.format, r.name);
    c.window.copying = ended_in_batches(r);
    c.window.lends = r.sink.kind == SinkKind::user && !r.chunk;
    return c;
}

namespace {

/// Holds the seconds in which a packet that comes again by the same path is taken for a repeated one, in the
/// least.
constexpr double kLeastBehind = 0.01;

/// Warns of a port that can never lend what the stream asks for. One without buffers of its own has a remark.
void check_loans(const ReceivePlan& r, const port::PlannedPort& port) {
    const std::uint32_t most = port.loans ? port.loans->most() : 0;
    if (most < r.lend && !port.device.capabilities.receives_own)
        log_warning(LogType::runtime,
                    "receive {}: `lend` asks for {}, and its port has {} to lend: more heaps are copied; "
                    "name `lend` in the stream that opens the port",
                    r.name, counted(r.lend, "buffers"), most);
}

/// Holds a lane whose heaps lie in an arena of its own.
struct LaneWithArena {
    LaneWithArena(const recv::LaneConfig& config, std::size_t bytes)
        : arena(bytes, config.window.max_heap_bytes), lane(config, heap::PoolPlacer(arena, 0)) {}

    memory::Arena arena;
    recv::SpeadLane lane;
};

/// Holds a lane whose heaps lie in the memory of an engine.
struct LaneWithEngine {
    LaneWithEngine(const recv::LaneConfig& config, const ReceivePlan& r, gather::Engine& engine)
        : memory(engine.allocate(own_heap_bytes(r))),
          arena({memory->base, own_heap_bytes(r)}, config.window.max_heap_bytes),
          lane(config, heap::PoolPlacer(arena, 0)) {}

    std::shared_ptr<const memory::Region> memory;
    memory::Arena arena;
    recv::SpeadLane lane;
};

}  // namespace

std::vector<const StreamLane*> Stream::all_lanes() const {
    std::vector<const StreamLane*> all;
    for (const auto& lane : lanes)
        all.push_back(lane.get());
    for (const Leaving& one : leaving)
        all.push_back(one.lane.get());
    return all;
}

HeapTally::Done done_of(const StreamLane& lane) {
    HeapTally::Done done = lane.done;
    if (lane.chunks)
        done.delivered = lane.counts.heaps_pushed;
    return done;
}

const StreamLane* lane_on(const Stream& stream, const Worker& worker) {
    for (const auto& lane : stream.lanes)
        if (lane->worker == &worker)
            return lane.get();
    return nullptr;
}

void Stream::replace_chunks(std::shared_ptr<StreamChunks> successor) {
    if (chunks && successor)
        successor->goes_on_from(*chunks);
    if (chunks)
        former_chunks.push_back(std::move(chunks));
    chunks = std::move(successor);
    if (chunks)
        group = chunks->group();
}

/// Makes the sink of a stream, and its chunks if it has them.
std::shared_ptr<Sink> StreamSet::make_sink(const ReceivePlan& r, std::uint32_t number,
                                           std::shared_ptr<StreamChunks>& chunks) const {
    std::shared_ptr<Sink> sink;
    if (!r.chunk) {
        sink = makers_.sink(r.sink, r.name);
        if (r.engine != HeapEngine::none)
            sink->read_with(makers_.engines->engine(r.engine));
        return sink;
    }
    chunks = makers_.chunks(r, number, sink);
    return sink;
}

void StreamSet::make(const std::vector<ReceivePlan>& plans, const std::vector<QueueLayout>& queues) {
    for (const ReceivePlan& r : plans) {
        Stream& stream = *current_.emplace_back(std::make_unique<Stream>());
        stream.number = ++last_number_;
        stream.name = r.name;
        if (!r.enabled)
            continue;
        if (r.sink.kind == SinkKind::user && !r.chunk) {
            stream.users = users_of(r);
        } else {
            std::shared_ptr<StreamChunks> chunks;
            stream.sinks.replace(make_sink(r, stream.number, chunks));
            stream.replace_chunks(std::move(chunks));
        }
        keep_places(stream, all_endpoints(r));
    }
    for (std::size_t i = 0; i < current_.size(); i++)
        if (plans[i].enabled)
            make_lanes(*current_[i], i, plans[i], queues);
    share_caches();
}

StreamSet::Fresh StreamSet::make_fresh(const std::vector<ReceivePlan>& wanted, const Change& change) {
    Fresh fresh;
    fresh.streams.resize(wanted.size());
    fresh.sinks.resize(wanted.size());
    fresh.users.resize(wanted.size());
    fresh.chunks.resize(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); i++) {
        const ReceivePlan& r = wanted[i];
        const Change::Receive& c = change.receives[i];
        if (!c.before) {
            fresh.streams[i] = std::make_unique<Stream>();
            fresh.streams[i]->number = ++last_number_;
            fresh.streams[i]->name = r.name;
        }
        if (c.new_sink && r.enabled && r.sink.kind == SinkKind::user && !r.chunk)
            fresh.users[i] = users_of(r);
        else if (c.new_sink && r.enabled)
            fresh.sinks[i] = make_sink(r, c.before ? current_[*c.before]->number : fresh.streams[i]->number,
                                       fresh.chunks[i]);
    }
    return fresh;
}

void StreamSet::exchange(const Change& change, Streams fresh) {
    Streams now(fresh.size());
    for (std::size_t i = 0; i < now.size(); i++) {
        const Change::Receive& c = change.receives[i];
        now[i] = c.before ? std::move(current_[*c.before]) : std::move(fresh[i]);
    }
    for (const std::size_t gone : change.removed)
        removed_.push_back(std::move(current_[gone]));
    current_ = std::move(now);
}

void StreamSet::renew(const std::vector<ReceivePlan>& plans, const std::vector<QueueLayout>& queues,
                      const Change& change, Fresh fresh) {
    for (std::size_t i = 0; i < current_.size(); i++) {
        Stream& s = *current_[i];
        const Change::Receive& c = change.receives[i];
        if (c.kind == Change::Kind::lanes)
            s.retire_lanes();
        if (c.new_sink) {
            s.sinks.replace(std::move(fresh.sinks[i]));
            s.replace_chunks(std::move(fresh.chunks[i]));
            // The users of a stopped stream take the remaining heaps.
            if (plans[i].enabled)
                s.users = std::move(fresh.users[i]);
        }
        if (plans[i].enabled)
            keep_places(s, all_endpoints(plans[i]));
        if (c.kind == Change::Kind::lanes && plans[i].enabled) {
            s.stopped = false;
            s.stopped_on_one_path.reset();
            s.source_ended = false;
            make_lanes(s, i, plans[i], queues);
        }
    }
    for (const auto& s : removed_) {
        s->retire_lanes();
        s->sinks.replace(nullptr);
        s->replace_chunks(nullptr);
    }
    share_caches();
}

/// Gives the lcores that have streams now the rules for their copies: lcores of one cache share it.
void StreamSet::share_caches() {
    std::vector<Worker*> copying;
    std::vector<unsigned> cpus;
    for (const auto& w : lcores_)
        if (std::any_of(current_.begin(), current_.end(),
                        [&w](const auto& s) { return lane_on(*s, *w) != nullptr; })) {
            copying.push_back(w.get());
            cpus.push_back(w->layout->cpu);
        }
    for (Worker* const w : copying)
        lcores_.ask(
            *w, [](recv::RxAgent* receiver, memory::StoresRule rule) { receiver->set_stores(rule); },
            &w->loop->receiver(), makers_.stores(w->layout->cpu, cpus));
}

/// Makes a lane that neither its lcore nor the consumers know yet.
std::unique_ptr<StreamLane> StreamSet::make_lane(const Stream& stream, const ReceivePlan& r, Worker& worker) {
    auto lane = std::make_unique<StreamLane>();
    const recv::LaneConfig config = lane_config(r, stream.places.all(), is_lossless(ports_, r));
    if (r.chunk) {
        // Its heaps lie in chunks, and those of the tracked way have a window there.
        recv::LaneConfig least = config;
        least.queue_heaps = least.window.max_live = least.window.substreams = 1;
        least.window.history = 0;
        lane->arena = &worker.arena;
        lane->rx = std::make_shared<recv::SpeadLane>(least, heap::PoolPlacer(worker.arena, 0));
    } else if (r.engine != HeapEngine::none) {
        auto own = std::make_shared<LaneWithEngine>(config, r, *makers_.engines->engine(r.engine));
        own->lane.gather_with(
            makers_.engines->gathering(r.engine, worker.layout->lcore, ports_[r.port].planned()));
        lane->arena = &own->arena;
        lane->owns_arena = true;
        lane->rx = std::shared_ptr<recv::SpeadLane>(own, &own->lane);
    } else if (r.memory != 0) {
        auto own = std::make_shared<LaneWithArena>(config, r.memory);
        lane->arena = &own->arena;
        lane->owns_arena = true;
        lane->rx = std::shared_ptr<recv::SpeadLane>(own, &own->lane);
    } else {
        lane->arena = &worker.arena;
        lane->rx = std::make_shared<recv::SpeadLane>(config,
                                                     heap::PoolPlacer(worker.arena, *worker.reservations, 0));
    }
    lane->users = stream.users;
    lane->rx->numbers = stream.numbers;
    if (has_two_paths(r))
        lane->rx->merge(stream.places.paths(), ticks(std::max(r.path_skew, kLeastBehind)),
                        stream.chunks != nullptr);
    if (stream.chunks) {
        lane->chunks = stream.chunks;
        lane->rx->chunks = stream.chunks->make_lane(
            lane->rx->counters, config.window.on_full == heap::FullPolicy::block, config.window);
        if (r.engine != HeapEngine::none)
            lane->rx->gather_with(
                makers_.engines->gathering(r.engine, worker.layout->lcore, ports_[r.port].planned()));
    }
    if (auto filter = makers_.filter(r)) {
        // Those of the configuration look at headers only.
        if (ports_[r.port].planned().device.split &&
            dynamic_cast<recv::ExpressionFilter*>(filter.get()) == nullptr)
            throw_error(fmt::format("receive {}", r.name),
                        "its filter may read payload, and port {} splits packets into memory that the CPU "
                        "cannot read; leave out the filter, or `split` of the port",
                        r.port);
        lane->rx->filter = std::make_unique<recv::FilterGate>(std::move(filter), r.held_buffers);
    }
    if (r.lend != 0 && !lane->rx->chunks) {
        const port::PlannedPort& port = ports_[r.port].planned();
        check_loans(r, port);
        lane->rx->lend({port.loans, r.lend}, r.lend);
    }
    lane->worker = &worker;
    lane->sink = stream.sinks.current();
    return lane;
}

/// Makes a lane of the stream on every lcore that the queues deliver it to.
void StreamSet::make_lanes(Stream& stream, std::size_t receive, const ReceivePlan& r,
                           const std::vector<QueueLayout>& queues) {
    std::vector<std::unique_ptr<StreamLane>> lanes;
    for (const auto& w : lcores_) {
        const bool mine = std::any_of(queues.begin(), queues.end(), [&](const QueueLayout& q) {
            return std::any_of(q.deliveries.begin(), q.deliveries.end(), [&](const Delivery& d) {
                return d.receive == receive &&
                       std::find(d.cpus.begin(), d.cpus.end(), w->layout->planned_cpu) != d.cpus.end();
            });
        });
        if (mine)
            lanes.push_back(make_lane(stream, r, *w));
    }
    for (auto& lane : lanes)
        install(stream, std::move(lane));
}

/// Gives the lane to the lcore and the consumers; packets arrive once a classifier names it.
void StreamSet::install(Stream& stream, std::unique_ptr<StreamLane> lane) {
    Worker& worker = *lane->worker;
    stream.lanes.reserve(stream.lanes.size() + 1);
    worker.lanes.reserve(worker.lanes.size() + 1);
    if (lane->users)
        lane->user_queue = lane->users->add(std::shared_ptr<heap::HeapQueue>(lane->rx, &lane->rx->queue));
    else if (!lane->chunks)
        lane->feed = &consumers_.add(lane->rx->queue, *lane->sink);
    StreamLane& p = *stream.lanes.emplace_back(std::move(lane));
    p.slot = lcores_.ask(
        worker, [](recv::RxAgent* receiver, recv::SpeadLane* rx) { return receiver->add_lane(*rx); },
        &worker.loop->receiver(), p.rx.get());
    worker.lanes.push_back(&p);
    reserve_memory(worker, true);
}

/// Reserves for every stream an equal amount of its lcore's memory, or its own memory. Streams that are being
/// removed keep theirs as long as packets may still reach them.
void StreamSet::reserve_memory(Worker& worker, bool with_leaving) {
    std::vector<const StreamLane*> staying;
    if (with_leaving)
        staying.assign(worker.lanes.begin(), worker.lanes.end());
    else
        for (const auto& stream : current_)
            for (const auto& lane : stream->lanes)
                if (lane->worker == &worker)
                    staying.push_back(lane.get());
    const auto sharing = std::count_if(staying.begin(), staying.end(),
                                       [](const StreamLane* p) { return !p->owns_arena && !p->chunks; });
    const std::size_t share = sharing == 0 ? 0 : worker.arena.capacity() / static_cast<std::size_t>(sharing);
    struct Quota {
        heap::Window* window;
        std::size_t bytes;
    };
    std::vector<Quota> quotas;
    for (StreamLane* const lane : worker.lanes) {
        const bool stays = std::find(staying.begin(), staying.end(), lane) != staying.end();
        quotas.push_back({&lane->rx->window, !stays || lane->chunks ? 0
                                             : lane->owns_arena     ? lane->arena->capacity()
                                                                    : share});
    }
    lcores_.ask(
        worker,
        [](const std::vector<Quota>& all) {
            for (const Quota& one : all)
                one.window->set_quota(0);
            for (const Quota& one : all)
                one.window->set_quota(one.bytes);
        },
        std::move(quotas));
}

/// Keeps the endpoints' places in the lanes' tables, which grow with them.
void StreamSet::keep_places(Stream& stream, const std::vector<PathEndpoint>& endpoints) {
    const std::vector<std::size_t> fresh = stream.places.keep(endpoints, !stream.leaving.empty());
    stream.numbers = stream.places.numbers(endpoints, std::move(stream.numbers));
    stream.past.free_places(stream.places.size(), fresh);
    // The lcore moves its counts into larger tables; returns what it had counted at the places that are
    // fresh.
    const auto enlarge = [](recv::SpeadLane* lane, std::vector<std::uint64_t>& stops,
                            std::vector<stats::EndpointCounters>& counters,
                            std::vector<stats::UnplacedCounters>& unplaced,
                            std::vector<std::uint16_t>& numbers, std::vector<std::uint8_t>& paths,
                            const std::vector<std::size_t>& places) {
        std::copy(lane->stops_seen.begin(), lane->stops_seen.end(), stops.begin());
        std::copy(lane->endpoints.begin(), lane->endpoints.end(), counters.begin());
        std::copy(lane->unplaced.begin(), lane->unplaced.end(), unplaced.begin());
        stats::EndpointCounters former;
        for (const std::size_t place : places) {
            stops[place] = 0;
            if (place < lane->paths.size())
                lane->counters.paths[lane->paths[place]].add(counters[place], unplaced[place]);
            unplaced[place] = {};
            former.add(std::exchange(counters[place], {}));
        }
        std::swap(lane->stops_seen, stops);
        std::swap(lane->endpoints, counters);
        std::swap(lane->unplaced, unplaced);
        std::swap(lane->numbers, numbers);
        if (!lane->paths.empty())
            std::swap(lane->paths, paths);
        return former;
    };
    const std::size_t n = stream.places.size();
    for (const auto& lane : stream.lanes)
        stream.past.add_without_place(
            lcores_.ask(*lane->worker, enlarge, lane->rx.get(), std::vector<std::uint64_t>(n),
                        std::vector<stats::EndpointCounters>(n), std::vector<stats::UnplacedCounters>(n),
                        stream.numbers, stream.places.paths(), fresh));
}

}  // namespace spead::runtime
