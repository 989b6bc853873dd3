// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "chunk/callback.hpp"
#include "chunk/placement.hpp"
#include "runtime/chunk_group.hpp"
#include "runtime/user_chunks.hpp"
#include "spead/chunk.hpp"
#include "spead/chunk_ring.hpp"
#include "spead/local_receiver.hpp"
#include "spead/loose_chunks.hpp"
#include "spead/main_thread.hpp"
#include "spead/place_adapter.hpp"
#include "spead/plan_edits.hpp"
#include "spead/readers.hpp"
#include "spead/session.hpp"
#include "stats/snapshot.hpp"

/// Holds the inner parts of ChunkStream. Not installed.
namespace spead {

namespace door {

/// Says how heaps are placed: by a declared placement, or by a callback.
struct Placing {
    explicit Placing(const Placement& p);
    /// Throws UsageError for a callback that no lane could have.
    explicit Placing(const PlaceCallback& c);

    std::optional<chunk::Placement> placement{};
    std::shared_ptr<PlaceStats> stats{};
    std::function<chunk::PlaceCallback()> make_callback{};
    runtime::ChunkShape shape;
};

/// Returns the counts of a stream that the session knows; nothing if another call has removed it.
std::optional<ChunkStats> chunk_stats_in(const stats::Snapshot& snap, const std::string& name);
/// Sets the counts of the window, and those of what the user has taken.
void set_chunks(const stats::ChunkCounts& c, ChunkStats& to);
void set_taken(const stats::ChunkCounts& c, ChunkStats& to);

/// Holds what the streams of a group share.
struct SharedChunks {
    std::shared_ptr<runtime::ChunkGroup> group = std::make_shared<runtime::ChunkGroup>();
    std::shared_ptr<runtime::UserChunks::Totals> totals = std::make_shared<runtime::UserChunks::Totals>();
    /// Guards `group` where no session does: LocalReceiver::Parts::of_group.
    std::shared_ptr<std::mutex> mutex = std::make_shared<std::mutex>();
};

}  // namespace door

struct ChunkStream::State {
    /// Takes what the stream shares with others of its group; null: it is alone.
    State(std::shared_ptr<door::Session> s, const RecvConfig& config, const door::Placing& placing,
          std::shared_ptr<door::KeptChunks> ring, const ChunkConfig& chunks,
          std::shared_ptr<door::SharedChunks> of_group = {});
    /// Receives without a session.
    State(const RecvConfig& config, const Reader& reader, const door::Placing& placing,
          std::shared_ptr<door::KeptChunks> ring, const ChunkConfig& chunks,
          std::shared_ptr<door::SharedChunks> of_group = {});
    /// Makes the state of a stream that has a process: of a session, unless the kernel receives.
    static std::unique_ptr<State> make(const std::shared_ptr<door::Session>& session,
                                       const RecvConfig& config, const door::Placing& placing,
                                       std::shared_ptr<door::KeptChunks> ring, const ChunkConfig& chunks);
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    static State& of(const std::unique_ptr<State>& state);
    bool is_own() const noexcept { return local ? local->is_own() : door::is_own_process(); }
    std::string where() const { return door::where_of("receive", name); }
    void enable(bool yes) const {
        session->change(name, [yes](runtime::ReceivePlan& r) { r.enabled = yes; });
    }

    /// Ends the ring after stop() unless a stream fills it: also one that has never begun ends.
    void end_if_idle() const noexcept;

    std::shared_ptr<door::KeptChunks> kept;      ///< until nothing writes to their memory
    std::shared_ptr<door::Session> session;      ///< null: it has none, and `local` receives
    std::shared_ptr<door::SharedChunks> shared;  ///< null: the stream is alone
    std::shared_ptr<runtime::UserChunks::Totals> totals;
    /// Says what the session or the local receiver fills.
    runtime::UserChunks::Use use_of(const door::Placing& placing, std::uint32_t tag) const;
    std::shared_ptr<door::LooseProducer> producer;  ///< null: the ring has chunks of its own
    /// Counts its parts that have not ended.
    std::shared_ptr<std::atomic<int>> open = std::make_shared<std::atomic<int>>(0);
    std::shared_ptr<door::PlaceStats> callback_stats;  ///< null: there are none
    const bool has_destinations = true;                ///< packets of its source have some
    std::string name;
    std::mutex mutex;
    ChunkStats last;                             ///< guarded
    std::shared_ptr<door::LocalReceiver> local;  ///< its group's, too, for a moment
};

}  // namespace spead
