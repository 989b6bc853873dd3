// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/api/api_changes.hpp"
#include "app/api/process_of_run.hpp"
#include "app/api/work_queue.hpp"
#include "app/prompt/process.hpp"
#include "base/log.hpp"
#include "observe/api_access.hpp"
#include "observe/api_answers.hpp"

namespace spead::app {

/// Answers the requests under /api/: from snapshots at once, and by the running process, if one is attached,
/// on threads of its own. Also serves the page, which asks them.
class Api {
  public:
    struct Options {
        std::shared_ptr<const stats::LatestSnapshot> latest;
        std::shared_ptr<const observe::EventLog> events;
        observe::Json facts;                     ///< of /api/v1
        std::optional<observe::ApiToken> token;  ///< for changes; none: there are no changes
        std::vector<unsigned> cpus;              ///< for its threads; empty: anywhere
    };
    /// Starts its threads. Throws Error when there are none left.
    explicit Api(Options options);

    /// Decides how a request is answered; nothing: it is neither under /api/ nor of the page. The HTTP
    /// server's thread.
    std::optional<observe::HttpRoute> route(const observe::HttpRequest& request);

    /// Attaches a process while it lives. Its executor is closed before the end: so no request waits for it,
    /// and the end waits for no request (ProcessOfRun::detach).
    class Attached {
      public:
        Attached(Api& api, Process& process);
        ~Attached();
        Attached(const Attached&) = delete;
        Attached& operator=(const Attached&) = delete;

      private:
        Api& api_;
    };

    /// Limits the body of a POST, in bytes. A change has a few arguments; the server's limit is for PUT.
    static constexpr std::size_t kLongestChange = 65536;

  private:
    const observe::ApiToken* token() const { return token_ ? &*token_ : nullptr; }

    /// Holds everything that a job uses: one that hangs may outlive the API.
    struct Shared {
        ApiChanges changes;
        ProcessOfRun process;
        LogLimiter refusals;  ///< of requests, from clients who need not have the token
    };
    using Work = std::function<observe::HttpAnswer(Process&, const observe::HttpRequest&)>;
    using Clock = std::chrono::steady_clock;

    static observe::HttpAnswer refused(Shared& shared, const observe::HttpRequest& request, int status,
                                       std::string_view words);
    static std::optional<observe::HttpAnswer> why_too_long(Shared& shared,
                                                           const observe::HttpRequest& request,
                                                           std::size_t longest);
    std::optional<observe::HttpRoute> route_of(const observe::HttpRequest& request);
    observe::HttpRoute shutdown(const ChangePath& change);
    observe::HttpRoute later(WorkQueue& queue, Work work, std::size_t longest);
    static observe::HttpAnswer carry_out(Shared& shared, const Work& work,
                                         const observe::HttpRequest& request, Clock::time_point asked);
    observe::HttpRoute configuration(const observe::HttpRequest& request);
    observe::HttpRoute put_configuration(const observe::HttpRequest& request);
    observe::HttpRoute change(const ChangePath& change, const observe::HttpRequest& request);

    const std::vector<std::string> names_;  ///< of this machine
    const std::optional<observe::ApiToken> token_;
    const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
    observe::ApiAnswers answers_;
    WorkQueue looks_;
    WorkQueue works_;  ///< for changes, which may take long
};

}  // namespace spead::app
