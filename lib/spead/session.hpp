// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "memory/region.hpp"
#include "recv/packet_filter.hpp"
#include "runtime/heap_source.hpp"
#include "runtime/user_chunks.hpp"
#include "runtime/user_queues.hpp"
#include "spead/plan_run.hpp"
#include "spead/process.hpp"

namespace spead::door {

/// Reports that the session has ended, or ends just now.
class Ending : public Error {
  public:
    using Error::Error;
};

/// Holds a stream's replacements for the plan's sink, filter and heap source. Called on the session's thread,
/// perhaps repeatedly.
struct StreamHooks {
    std::shared_ptr<runtime::UserQueues> user_queues{};  ///< of a stream with SinkKind::user
    runtime::UserChunks::Use chunks{};                   ///< of a stream with SinkKind::user that has chunks
    std::function<std::unique_ptr<recv::PacketFilter>(const runtime::ReceivePlan&)> make_filter{};
    std::function<std::unique_ptr<runtime::HeapSource>(const runtime::SendPlan&, send::Sender&,
                                                       memory::RegionTable&)>
        make_heap_source{};
};

/// Holds a PlanRun on a thread of its own, MainThread; every stream of the library is an edit of the engine's
/// plan.
///
/// Any thread may call anything. Calls are carried out on the session's thread, one after the other, and wait
/// until they begin with a bound (runtime::Executor::kPatience). What has begun is waited for: every wait of
/// the engine's has a bound of its own. A hook may call nothing here. Not installed: it
/// names the engine.
class Session {
  public:
    /// Starts EAL, unless it runs, and an engine without ports. Throws Error, when a session lives, too, and
    /// UsageError.
    static std::shared_ptr<Session> start(const ProcessConfig& config);
    /// Returns the present session; starts one if there is none.
    static std::shared_ptr<Session> shared(const ProcessConfig& config);
    /// Returns the present session; null: none.
    static std::shared_ptr<Session> current();

    /// Calls stop().
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Ends the engine: orderly, and bounded by its patience. Idempotent.
    void stop() noexcept;
    bool running() const noexcept;
    /// Waits, bounded, until a session that is ending has ended. Returns false when it has not, and at once
    /// on the session's own thread.
    bool wait_for_end() const noexcept;
    /// Returns the problems, after the session's end.
    std::vector<std::string> problems() const;

    /// Returns the engine's counts at its end; nothing while it runs.
    stats::Snapshot last_snapshot() const;

    /// Adds the stream to the plan, on the port that `interface` names, which is opened unless it is open;
    /// `plan.port` is filled in here, and so is an empty `plan.name`. Returns the name. Throws Error; then
    /// nothing has changed.
    std::string add(runtime::ReceivePlan plan, const std::string& interface, StreamHooks hooks);
    std::string add(runtime::SendPlan plan, const std::string& interface, StreamHooks hooks);
    /// Replaces the streams and senders of an earlier plan by this one's; those without a user here. Throws
    /// Error; then nothing has changed.
    void apply(runtime::Plan given);
    /// Changes a stream of the plan. Throws Error; then nothing has changed.
    void change(const std::string& stream, const std::function<void(runtime::ReceivePlan&)>& edit);
    /// Changes those of the streams that the plan has, all at once. Throws Error; then nothing has changed.
    void change_all(const std::vector<std::string>& streams,
                    const std::function<void(runtime::ReceivePlan&)>& edit);
    void change_sender(const std::string& sender, const std::function<void(runtime::SendPlan&)>& edit);
    /// Takes the stream or sender out of the plan; never throws. When the session ends meanwhile, it waits
    /// for the end. When the session is busy, the removal is carried out later.
    void remove(const std::string& stream) noexcept;
    void remove_sender(const std::string& sender) noexcept;

    /// Runs `function(engine)` on the session's thread. Rethrows its exception, and throws Ending when
    /// the session has ended, and Error when it does not answer.
    template <typename Function>
    auto on_engine(Function&& function) {
        try {
            return plan_run().on_engine(std::forward<Function>(function));
        } catch (const Error& error) {
            retell(error);
            throw;
        }
    }

  private:
    struct State;
    static std::weak_ptr<State>& latest();
    static void stop_at_exit();
    static void retell(const Error& error);
    static std::shared_ptr<Session> start_first(const ProcessConfig& config);
    explicit Session(std::shared_ptr<State> state) : state_(std::move(state)) {}

    PlanRun& plan_run();

    std::shared_ptr<State> state_;  ///< also its thread's, until it has ended
};

}  // namespace spead::door
