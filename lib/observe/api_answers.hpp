// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "observe/event_log.hpp"
#include "observe/http_message.hpp"
#include "observe/json.hpp"
#include "stats/latest_snapshot.hpp"

/// Answers the reading requests of the API under /api/v1. Names are the JSON report's (docs/counters.md).
namespace spead::observe {

struct ApiResource {
    std::string_view path;  ///< a part in braces stands for any text: "/api/v1/streams/{name}"
    std::string_view help;
};

/// Lists the paths of GET that the latest snapshot and the event log answer. config/api/openapi.json
/// describes them.
inline constexpr std::array kApiResources{
    ApiResource{"/api/v1", "Returns facts about the process, and the paths"},
    ApiResource{"/api/v1/report", "Returns the JSON report"},
    ApiResource{"/api/v1/streams", "Returns the report's streams"},
    ApiResource{"/api/v1/streams/{name}", "Returns the report's entry of a stream"},
    ApiResource{"/api/v1/chunks", "Returns the chunks and axes of the streams that have chunks"},
    ApiResource{"/api/v1/ports", "Returns the report's ports"},
    ApiResource{"/api/v1/ports/{name}", "Returns the report's entry of a port"},
    ApiResource{"/api/v1/lcores", "Returns the report's lcores"},
    ApiResource{"/api/v1/lcores/{name}", "Returns the report's entry of an lcore"},
    ApiResource{"/api/v1/sends", "Returns the report's senders"},
    ApiResource{"/api/v1/sends/{name}", "Returns the report's entry of a sender"},
    ApiResource{"/api/v1/captures", "Returns the report's running and ended captures"},
    ApiResource{"/api/v1/findings", "Returns the reasons for losses"},
    ApiResource{"/api/v1/events", "Returns the latest events"},
    ApiResource{"/api/v1/stream", "Sends the report and new events at an interval, as server-sent events"},
};

/// Answers from the latest snapshot and the event log. One thread calls it.
class ApiAnswers {
  public:
    /// Takes `facts`, constant members of /api/v1: name, version, pid, started, changes.
    ApiAnswers(std::shared_ptr<const stats::LatestSnapshot> latest, std::shared_ptr<const EventLog> events,
               Json facts);

    /// Returns the way to answer a request, of any method, for a path of kApiResources. Nothing: it is
    /// another path. Errors are answers with {"error": words}.
    std::optional<HttpRoute> route(const HttpRequest& request);

  private:
    using View = stats::LatestSnapshot::View;
    struct Report;

    HttpRoute answer(const HttpRequest& request, std::string_view resource, const std::string& name);
    HttpAnswer summary(const View& view) const;
    HttpAnswer part(const View& view, std::string_view list, const std::string& name);
    HttpAnswer events(const HttpRequest& request) const;
    HttpRoute stream(const HttpRequest& request) const;
    std::shared_ptr<Report> report_;  ///< shared with the streams that it began
    std::shared_ptr<const EventLog> events_;
    Json facts_;
};

}  // namespace spead::observe
