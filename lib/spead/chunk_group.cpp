// SPDX-License-Identifier: BSD-3-Clause
#include <utility>
#include <vector>

#include "base/current_reason.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "spead/chunk_stream.hpp"
#include "spead/main_thread.hpp"
#include "spead/placement_access.hpp"

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
    State(std::shared_ptr<door::Session> s, door::Placing p, std::shared_ptr<runtime::UserChunks> r,
          const ChunkConfig& c)
        : session(std::move(s)), placing(std::move(p)), ring(std::move(r)), chunks(c) {
        door::about(kGroup, [this] { ring->check(placing.shape, chunks.window); });
    }

    static State& of(const std::unique_ptr<State>& state) {
        if (!state)
            throw_usage(kGroup, "it was moved to another variable; use that one");
        door::need_own_process(kGroup);
        return *state;
    }

    /// Names a stream that was added, which may be gone.
    struct Member {
        std::string name;
        std::weak_ptr<std::atomic<int>> open;
    };
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

    std::shared_ptr<door::Session> session;
    door::Placing placing;
    std::optional<PlaceCallback> callback{};
    std::shared_ptr<runtime::UserChunks> ring;
    ChunkConfig chunks;
    std::shared_ptr<door::SharedChunks> shared = std::make_shared<door::SharedChunks>();
    std::mutex mutex;
    std::vector<Member> members;  ///< guarded
};

ChunkStreamGroup::ChunkStreamGroup(const Process& process, const Placement& placement, ChunkRing& ring,
                                   const ChunkConfig& chunks)
    : state_(std::make_unique<State>(process.session_, door::Placing(placement),
                                     ChunkRing::State::of(ring.state_).chunks, chunks)) {}
ChunkStreamGroup::ChunkStreamGroup(const Process& process, const PlaceCallback& callback, ChunkRing& ring,
                                   const ChunkConfig& chunks)
    : state_(std::make_unique<State>(process.session_, door::Placing(callback),
                                     ChunkRing::State::of(ring.state_).chunks, chunks)) {
    state_->callback = callback;
}
ChunkStreamGroup::ChunkStreamGroup(ChunkStreamGroup&&) noexcept = default;
ChunkStreamGroup& ChunkStreamGroup::operator=(ChunkStreamGroup&&) noexcept = default;
ChunkStreamGroup::~ChunkStreamGroup() = default;

ChunkStream ChunkStreamGroup::add(const RecvConfig& config) {
    State& s = State::of(state_);
    // Each stream has the counters of its callback for itself.
    return add_to(s, config, s.callback ? door::Placing(*s.callback) : s.placing);
}

ChunkStream ChunkStreamGroup::add(const RecvConfig& config, const Placement& placement) {
    State& s = State::of(state_);
    const door::Placing placing(placement);
    if (!s.placing.placement ||
        without_constants(*placing.placement) != without_constants(*s.placing.placement))
        throw_usage(kGroup, "it has {}, and {} differs from that in more than constants; use another group",
                    s.placing.shape.text, placing.shape.text);
    return add_to(s, config, placing);
}

ChunkStream ChunkStreamGroup::add_to(State& s, const RecvConfig& config, const door::Placing& placing) {
    if (config.backend == Backend::kernel)
        throw_usage(door::where_of("receive", config.name),
                    "sockets of the kernel fill no chunks of a group; set `backend` to Backend::port");
    RecvConfig stopped = config;
    stopped.start = false;
    auto stream =
        std::make_unique<ChunkStream::State>(s.session, stopped, placing, s.ring, s.chunks, s.shared);
    const std::lock_guard lock(s.mutex);
    s.members.push_back({stream->name, stream->open});
    return ChunkStream(std::move(stream));
}

void ChunkStreamGroup::start() {
    State& s = State::of(state_);
    s.enable(s.names(true), false);
    s.enable(s.names(false), true);
}

void ChunkStreamGroup::stop() noexcept {
    if (!state_ || !door::is_own_process())
        return;
    try {
        state_->enable(state_->names(false), false);
    } catch (const door::Ending&) {
        state_->session->wait_for_end();
    } catch (...) {
        log_error(LogType::runtime, "{}: it could not be stopped, and receives on: {}", kGroup,
                  reason_of_current());
    }
}

}  // namespace spead
