// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

#include <nlohmann/json.hpp>

namespace spead::app {

/// A client of a running process's telemetry (SOCK_SEQPACKET: a greeting, then one answer per command). Needs
/// no EAL. Used by one thread; waits for answers, `patience` at most.
class TelemetryClient {
  public:
    static constexpr std::chrono::milliseconds kPatience{2000};

    /// Throws Error: nobody listens there, it does not answer, it serves others.
    explicit TelemetryClient(const std::string& path, std::chrono::milliseconds patience = kPatience);
    ~TelemetryClient();
    TelemetryClient(const TelemetryClient&) = delete;
    TelemetryClient& operator=(const TelemetryClient&) = delete;

    /// Of the process and its user as the kernel knows them, whatever the process says.
    std::int64_t pid() const noexcept { return pid_; }
    std::optional<uid_t> user() const noexcept { return user_; }

    /// What "COMMAND[,PARAMETERS]" answers; null for a command that the process does not have. Throws Error
    /// when the process has ended, does not answer, or answers something else. What it answers may be shown
    /// on a terminal: control characters are replaced.
    nlohmann::ordered_json ask(const std::string& command);

    /// The JSON report with its age in seconds; null when the run has not begun. Throws Error.
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
