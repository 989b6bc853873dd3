// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

#include <nlohmann/json.hpp>

namespace spead::app {

/// Connects to a running process's telemetry (SOCK_SEQPACKET: a greeting, then one answer per command). Needs
/// no EAL. Used by one thread; waits for answers, `patience` at most.
class TelemetryClient {
  public:
    static constexpr std::chrono::milliseconds kPatience{2000};

    /// Connects. Throws Error: no process listens there, it does not answer, or it serves others.
    explicit TelemetryClient(const std::string& path, std::chrono::milliseconds patience = kPatience);
    ~TelemetryClient();
    TelemetryClient(const TelemetryClient&) = delete;
    TelemetryClient& operator=(const TelemetryClient&) = delete;

    /// Returns the process as the kernel knows it, regardless of its answers; the next: its user.
    std::int64_t pid() const noexcept { return pid_; }
    std::optional<uid_t> user() const noexcept { return user_; }

    /// Returns the answer to "COMMAND[,PARAMETERS]"; null for a command that the process does not have.
    /// Throws Error when the process has ended, does not answer, or answers something else. The answer may be
    /// shown on a terminal: control characters are replaced.
    nlohmann::ordered_json ask(const std::string& command);

    /// Holds the JSON report with its age in seconds; null when the run has not begun. Throws Error.
    struct Report {
        nlohmann::ordered_json report;
        double age_s = 0;
    };
    Report report();

  private:
    std::string receive();

    std::string path_;
    int fd_ = -1;
    std::size_t longest_ = 0;  ///< answer
    std::int64_t pid_ = 0;
    std::optional<uid_t> user_;
    bool greeted_ = false;
};

}  // namespace spead::app
