// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/file_descriptor.hpp"
#include "base/log.hpp"
#include "base/socket_file.hpp"
#include "runtime/notice_address.hpp"

namespace spead::runtime {

/// Gives lines of JSON to all clients that are connected. Its thread serves them, and waits for none: a
/// client that is slow loses lines, and learns how many.
class NoticeServer {
  public:
    static constexpr std::size_t kMostClients = 16;
    /// Limits the bytes that wait for one client, and next for the server's thread.
    static constexpr std::size_t kMostUnsent = std::size_t{256} << 10;
    static constexpr std::size_t kMostWaiting = std::size_t{4} << 20;
    /// Limits the time in which the last lines are sent at the end.
    static constexpr std::chrono::milliseconds kEndPatience{1000};
    /// Limits the wait for a server's thread, which may get no CPU, or hang in its file system.
    static constexpr std::chrono::milliseconds kThreadPatience{3000};

    /// Returns the server at an address: the one that this process has, or a new one. Control code. Throws
    /// Error when the address is in use, or cannot be used. When its last user has left it, it ends by
    /// itself: nobody waits for clients that do not read.
    static std::shared_ptr<NoticeServer> at(const NoticeAddress& address);
    /// Waits for the servers that are ending, all of them for kThreadPatience at most; returns how many there
    /// were. Those that have not ended by then go on: that is logged. The process does so at its end.
    static std::size_t join_ending();

    /// Listens. Throws Error as at().
    explicit NoticeServer(NoticeAddress address);
    /// Sends what waits, but not for long.
    ~NoticeServer();
    NoticeServer(const NoticeServer&) = delete;
    NoticeServer& operator=(const NoticeServer&) = delete;

    /// Returns the address, with the port that was taken.
    const NoticeAddress& address() const noexcept { return address_; }
    /// Gives an object of JSON to all clients, with the number of the notice and how many the client has lost
    /// since its last one. Any thread; never waits.
    void send(const std::string& object);
    /// Returns the number of notices so far. Any thread.
    std::uint64_t notices();

  private:
    using Clock = std::chrono::steady_clock;
    struct Waiting {
        std::uint64_t number = 0;
        std::string object;
    };
    struct Client {
        FileDescriptor connection;
        std::string unsent;
        std::uint64_t seen = 0;  ///< number of the last notice that it got, or that came before it
        std::uint64_t lost = 0;  ///< since then
    };

    struct All;

    static void leave(NoticeServer* server) noexcept;
    void begin_end() noexcept;
    void tell(bool& what) noexcept;
    bool wait_for(const bool& what, Clock::time_point until);
    bool is_done();
    void listen_unix();
    void listen_tcp();
    void serve() noexcept;
    void try_to_serve(bool ending) noexcept;
    void serve_once(bool ending);
    void accept_all();
    void refuse(const FileDescriptor& connection, const char* why);
    void add_lines();
    static bool read(Client& client);
    static bool write(Client& client);

    NoticeAddress address_;
    FileDescriptor listener_;
    FileDescriptor wake_;
    std::optional<SocketFile> file_;  ///< nothing: TCP

    std::mutex mutex_;
    // Guarded.
    std::deque<Waiting> waiting_;
    std::size_t waiting_bytes_ = 0;
    std::uint64_t last_ = 0;  ///< number of the last notice
    bool closed_ = false;     ///< nobody can connect any more: the address is free
    bool done_ = false;       ///< the thread has nothing left to do
    std::condition_variable told_;

    // Of the thread.
    std::list<Client> clients_;
    std::uint64_t given_ = 0;      ///< number of the last notice that left waiting_
    std::uint64_t lost_ = 0;       ///< lines of all clients
    Clock::time_point accepts_{};  ///< when it looks for clients again
    LogLimiter trouble_;

    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace spead::runtime
