// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/current_reason.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/process_mark.hpp"
#include "spead/chunk_stream.hpp"
#include "spead/main_thread.hpp"
#include "spead/placement_access.hpp"
#include "spead/reader_source.hpp"

/// Implements streams that fill the same chunks.
namespace spead {

namespace {

constexpr const char* kGroup = "chunk stream group";

/// Returns the placement with 0 for each constant.
chunk::Placement without_constants(chunk::Placement placement) {
    const auto clear = [](chunk::Term& term) {
        if (term.kind == chunk::Term::Kind::constant)
            term.first = 0;
    };
    for (chunk::Axis& axis : placement.axes)
        clear(axis.term);
    for (chunk::Extra& extra : placement.extras)
        clear(extra.term);
    return placement;
}

}  // namespace

struct ChunkStreamGroup::State {
    State(std::shared_ptr<door::Session> s, door::Placing p, std::shared_ptr<door::KeptChunks> r,
          const ChunkConfig& c)
        : session(std::move(s)), placing(std::move(p)), ring(std::move(r)), chunks(c) {
        door::about(kGroup, [this] { ring->chunks->check(placing.shape, chunks.window, chunks.back_fill); });
    }

    static State& of(const std::unique_ptr<State>& state) {
        if (!state)
            throw_usage(kGroup, "it was moved to another variable; use that one");
        door::need_own_process(kGroup, state->is_own());
        return *state;
    }
    bool is_own() const noexcept { return session ? door::is_own_process() : mark.is_own(); }

    /// Returns how a stream's heaps are placed. Each has the counters of its callback for itself.
    door::Placing placing_of_member() const { return callback ? door::Placing(*callback) : placing; }
    /// Returns a placement of its own. Throws UsageError if it is another than the group's.
    door::Placing placing_of_member(const Placement& placement) const {
        door::Placing own(placement);
        if (!placing.placement || without_constants(*own.placement) != without_constants(*placing.placement))
            throw_usage(kGroup,
                        "it has {}, and {} differs from that in more than constants; use another group",
                        placing.shape.text, own.shape.text);
        return own;
    }

    /// Returns a callback of its own. Throws UsageError if the group has a placement.
    door::Placing placing_of_member(const PlaceCallback& own) const {
        if (placing.placement)
            throw_usage(kGroup, "it has {}, and a stream of it a callback; use another group",
                        placing.shape.text);
        return door::Placing(own);
    }

    /// Names a stream that was added, which may be gone.
    struct Member {
        std::string name;
        std::weak_ptr<std::atomic<int>> open;
        std::weak_ptr<door::LocalReceiver> local;     ///< none: of the session
        std::weak_ptr<door::LooseProducer> producer;  ///< none: the ring has chunks of its own
    };
    using Locals = std::vector<std::shared_ptr<door::LocalReceiver>>;
    /// Returns the streams that no session has.
    Locals locals() {
        const std::lock_guard lock(mutex);
        Locals all;
        for (const Member& m : members)
            if (auto local = m.local.lock())
                all.push_back(std::move(local));
        return all;
    }
    /// Starts the streams that no session has. All have joined the window before the first one receives.
    static void start(const Locals& streams) {
        for (const auto& stream : streams)
            stream->settle();
        Locals fresh;
        std::size_t begun = 0;
        try {
            for (const auto& stream : streams)
                if (stream->prepare())
                    fresh.push_back(stream);
            for (; begun < fresh.size(); begun++)
                fresh[begun]->start();
        } catch (...) {
            for (std::size_t i = begun; i < fresh.size(); i++)
                fresh[i]->cancel();
            for (std::size_t i = 0; i < begun; i++)
                fresh[i]->stop();
            throw;
        }
    }

    /// Ends the ring after stop(), as far as no stream fills it: also streams that have never begun end.
    void end_if_idle() {
        ring->end_if_idle();
        const std::lock_guard lock(mutex);
        for (const Member& m : members) {
            const auto open = m.open.lock();
            const auto producer = m.producer.lock();
            if (open && producer && open->load() == 0)
                producer->end();
        }
    }

    std::vector<std::string> names(bool ended_only) {
        const std::lock_guard lock(mutex);
        std::erase_if(members, [](const Member& m) { return m.open.expired(); });
        std::vector<std::string> all;
        for (const Member& m : members) {
            const auto open = m.open.lock();
            if (open && (!ended_only || open->load() == 0))
                all.push_back(m.name);
        }
        return all;
    }
    void enable(const std::vector<std::string>& streams, bool yes) const {
        if (!streams.empty())
            session->change_all(streams, [yes](runtime::ReceivePlan& r) { r.enabled = yes; });
    }

    std::shared_ptr<door::Session> session;  ///< null: the streams receive without one
    const ProcessMark mark;
    door::Placing placing;
    std::optional<PlaceCallback> callback{};
    std::shared_ptr<door::KeptChunks> ring;
    ChunkConfig chunks;
    std::shared_ptr<door::SharedChunks> shared = std::make_shared<door::SharedChunks>();
    std::mutex mutex;
    std::vector<Member> members;  ///< guarded
};

ChunkStreamGroup::ChunkStreamGroup(const Process& process, const Placement& placement, ChunkRing& ring,
                                   const ChunkConfig& chunks)
    : state_(std::make_unique<State>(process.session_, door::Placing(placement),
                                     ChunkRing::State::of(ring.state_).kept, chunks)) {}
ChunkStreamGroup::ChunkStreamGroup(const Process& process, const PlaceCallback& callback, ChunkRing& ring,
                                   const ChunkConfig& chunks)
    : state_(std::make_unique<State>(process.session_, door::Placing(callback),
                                     ChunkRing::State::of(ring.state_).kept, chunks)) {
    state_->callback = callback;
}
ChunkStreamGroup::ChunkStreamGroup(const Placement& placement, ChunkRing& ring, const ChunkConfig& chunks)
    : state_(std::make_unique<State>(nullptr, door::Placing(placement),
                                     ChunkRing::State::of(ring.state_).kept, chunks)) {}
ChunkStreamGroup::ChunkStreamGroup(const PlaceCallback& callback, ChunkRing& ring, const ChunkConfig& chunks)
    : state_(std::make_unique<State>(nullptr, door::Placing(callback), ChunkRing::State::of(ring.state_).kept,
                                     chunks)) {
    state_->callback = callback;
}
ChunkStreamGroup::ChunkStreamGroup(ChunkStreamGroup&&) noexcept = default;
ChunkStreamGroup& ChunkStreamGroup::operator=(ChunkStreamGroup&&) noexcept = default;
ChunkStreamGroup::~ChunkStreamGroup() = default;

ChunkStream ChunkStreamGroup::add(const RecvConfig& config) {
    State& s = State::of(state_);
    return add_to(s, config, nullptr, s.placing_of_member());
}

ChunkStream ChunkStreamGroup::add(const RecvConfig& config, const Placement& placement) {
    State& s = State::of(state_);
    return add_to(s, config, nullptr, s.placing_of_member(placement));
}

ChunkStream ChunkStreamGroup::add(const RecvConfig& config, const Reader& reader) {
    State& s = State::of(state_);
    return add_to(s, config, &reader, s.placing_of_member());
}

ChunkStream ChunkStreamGroup::add(const RecvConfig& config, const Reader& reader,
                                  const Placement& placement) {
    State& s = State::of(state_);
    return add_to(s, config, &reader, s.placing_of_member(placement));
}

ChunkStream ChunkStreamGroup::add(const RecvConfig& config, const PlaceCallback& callback) {
    State& s = State::of(state_);
    return add_to(s, config, nullptr, s.placing_of_member(callback));
}

ChunkStream ChunkStreamGroup::add(const RecvConfig& config, const Reader& reader,
                                  const PlaceCallback& callback) {
    State& s = State::of(state_);
    return add_to(s, config, &reader, s.placing_of_member(callback));
}

ChunkStream ChunkStreamGroup::add_to(State& s, const RecvConfig& config, const Reader* reader,
                                     const door::Placing& placing) {
    if (s.session && (reader != nullptr || config.backend == Backend::kernel))
        throw_usage(door::where_of("receive", config.name),
                    "its group has a Process, and so has ports alone; make the group without one");
    RecvConfig stopped = config;
    stopped.start = false;
    std::unique_ptr<ChunkStream::State> stream;
    if (s.session)
        stream =
            std::make_unique<ChunkStream::State>(s.session, stopped, placing, s.ring, s.chunks, s.shared);
    else
        stream = std::make_unique<ChunkStream::State>(
            reader != nullptr ? stopped : door::need_kernel_backend(stopped),
            reader != nullptr ? *reader : Reader::sockets(), placing, s.ring, s.chunks, s.shared);
    const std::lock_guard lock(s.mutex);
    s.members.push_back({stream->name, stream->open, stream->local, stream->producer});
    return ChunkStream(std::move(stream));
}

void ChunkStreamGroup::start() {
    State& s = State::of(state_);
    s.ring->given_up = false;
    if (!s.session) {
        State::start(s.locals());
        return;
    }
    s.enable(s.names(true), false);
    s.enable(s.names(false), true);
}

void ChunkStreamGroup::stop() noexcept {
    if (!state_ || !state_->is_own())
        return;
    try {
        for (const auto& stream : state_->locals())
            stream->stop();
        if (state_->session)
            state_->enable(state_->names(false), false);
        state_->end_if_idle();
    } catch (const door::Ending&) {
        state_->session->wait_for_end();
    } catch (...) {
        log_error(LogType::runtime, "{}: it could not be stopped, and receives on: {}", kGroup,
                  reason_of_current());
    }
}

}  // namespace spead
