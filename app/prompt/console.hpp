// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/prompt/control_socket.hpp"
#include "app/prompt/grammar.hpp"
#include "app/prompt/handshakes.hpp"
#include "app/prompt/line.hpp"
#include "app/prompt/notifications.hpp"
#include "app/prompt/process.hpp"

namespace spead::app {

struct ConsoleOptions {
    bool interactive = false;
    std::string script;                      ///< --cmdline-file; empty: none
    int out = 1;                             ///< for the prompt and the script's answers
    std::vector<unsigned> cpus;              ///< for its threads; empty: anywhere
    ControlSocket* socket = nullptr;         ///< outlives the console; null: attaching is impossible
    Notifications* notifications = nullptr;  ///< notifications for sessions; outlives the console
};

/// Runs the sessions that control a running process: its own terminal or script, and attached ones. Each has
/// a thread, which never is an lcore. Connections without a greeting share the listener's thread.
class Console {
  public:
    Console(Process& process, const ConsoleOptions& options);
    ~Console() { end(); }
    Console(const Console&) = delete;
    Console& operator=(const Console&) = delete;

    /// Ends all sessions and restores the terminal. The process's executor is closed before, so that no
    /// session waits for it. A session that saves a file takes at most kSavePatience. Idempotent.
    void end();

    /// Returns the reasons for exit status 1; after end().
    const std::vector<std::string>& problems() const { return problems_; }

    /// Limits the attached sessions. One more replaces the session that has been idle longest, if that was at
    /// least kIdle.
    static constexpr std::size_t kMostSessions = 16;
    static constexpr std::chrono::seconds kIdle{60};

  private:
    struct Client {
        FileDescriptor connection;
        Greeting greeting;
        std::string begun;  ///< input after its greeting
        LastUse use;
        std::thread thread;
        bool sent_away = false;  ///< another one has replaced it
        std::atomic<bool> over{false};
    };

    void own_session();
    void own_script();
    void listen_to_notifications(std::optional<Notifications::Listening>& listening,
                                 NotificationQueue& notifications) const;
    void listen();
    bool listen_once(Handshakes& handshakes, int& accepts);
    bool rest() const;
    int accept_one(Handshakes& handshakes);
    void begin(Handshakes::Greeted greeted);
    bool make_room();
    void attached(Client& client);
    void reap(bool all);

    Process& process_;
    ConsoleOptions options_;
    Grammar grammar_;
    FileDescriptor stop_;
    FileDescriptor script_;
    std::vector<std::string> problems_;  ///< written by the own session's thread, read by others after it
    std::list<Client> clients_;          ///< the listener's
    std::thread session_thread_;
    std::thread listen_thread_;
};

}  // namespace spead::app
