// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "stats/latest_snapshot.hpp"

/// Answers the telemetry commands under /spead/. Names are the JSON report's (docs/counters.md).
namespace spead::observe {

struct TelemetryCommand {
    const char* name;
    const char* help;
};

/// Lists the commands. DPDK's names have letters, digits, `_` and `/`; a parameter follows after a comma.
inline constexpr std::array kTelemetryCommands{
    TelemetryCommand{"/spead/info",
                     "Returns the process's name, state and running time. Takes no parameters"},
    TelemetryCommand{"/spead/streams",
                     "Returns the streams' names. Parameters: number of names to skip (none)"},
    TelemetryCommand{"/spead/stream", "Returns the counters and rates of a stream. Parameters: its name"},
    TelemetryCommand{"/spead/heaps", "Returns a stream's heaps by outcome. Parameters: the stream's name"},
    TelemetryCommand{"/spead/sends",
                     "Returns the senders' names. Parameters: number of names to skip (none)"},
    TelemetryCommand{"/spead/send", "Returns the counters and rates of a sender. Parameters: its name"},
    TelemetryCommand{"/spead/ports", "Returns the ports' names. Parameters: number of names to skip (none)"},
    TelemetryCommand{"/spead/port", "Returns the counters and rates of a port. Parameters: its name"},
    TelemetryCommand{"/spead/lcores",
                     "Returns the worker lcores' numbers. Parameters: number of lcores to skip (none)"},
    TelemetryCommand{"/spead/lcore", "Returns the counters and work of an lcore. Parameters: its number"},
    TelemetryCommand{"/spead/captures",
                     "Returns the counters of captures. Parameters: number of captures to skip (none)"},
    TelemetryCommand{"/spead/findings", "Returns the findings on losses. Takes no parameters"},
    TelemetryCommand{
        "/spead/report",
        "Returns sequence and size of the JSON report, or a piece. Parameters: SEQUENCE,OFFSET (none)"},
};

/// Answers from the latest snapshot; any thread may ask.
class TelemetryAnswers {
  public:
    /// Takes `facts`, the constant members of /spead/info.
    TelemetryAnswers(std::shared_ptr<const stats::LatestSnapshot> latest, nlohmann::ordered_json facts);

    /// Returns an object or a list, not yet fitted (observe/telemetry_fit.hpp), or a string, which fits. An
    /// error is an object with the member "error".
    nlohmann::ordered_json answer(std::string_view command, std::string_view parameter);

  private:
    using View = stats::LatestSnapshot::View;

    nlohmann::ordered_json info(const View& view) const;
    nlohmann::ordered_json report(const View& view, std::string_view parameter);

    /// Holds a report as text while clients may fetch it piece by piece.
    struct Text {
        std::uint64_t sequence;
        std::shared_ptr<const std::string> text;
    };

    const std::shared_ptr<const stats::LatestSnapshot> latest_;
    const nlohmann::ordered_json facts_;
    std::mutex mutex_;
    std::deque<Text> texts_;  ///< youngest last; under the mutex
};

}  // namespace spead::observe
