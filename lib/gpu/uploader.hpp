// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "gpu/objects.hpp"
#include "gpu/registered.hpp"
#include "memory/mapping.hpp"

namespace spead::gpu {

/// Copies whole chunks from registered host memory into memory of the GPU, by the copy engine, on a thread of
/// its own. Uploads are done in the order of their tickets, several on their way at a time. The GPU writes
/// the ticket of the last one that is done into a word of host memory, so asking costs a load.
///
/// submit() belongs to control code and consumers, never to lcores: it locks. done(), error() and wait() may
/// be called by any thread.
class Uploader {
  public:
    struct Upload {
        const void* from = nullptr;  ///< registered; unchanged until it is done
        cuda::DevicePointer to = 0;
        std::size_t length = 0;
    };
    /// Numbers uploads from 1 on, and wraps after 2^32; 0: refused.
    using Ticket = std::uint32_t;

    /// Makes the stream, and starts the thread, which first calls `at_start` (to leave the lcores' CPUs). At
    /// most `in_flight` uploads are with the driver. Throws Error.
    Uploader(ContextPointer context, unsigned in_flight, std::function<void()> at_start = {});
    /// Waits for the uploads on their way, at most `kPatience`. Those that the driver does not have yet are
    /// not begun.
    ~Uploader();
    Uploader(const Uploader&) = delete;
    Uploader& operator=(const Uploader&) = delete;

    static constexpr std::chrono::seconds kPatience{10};
    static constexpr std::size_t kMostWaiting = 1024;

    /// Queues an upload. Returns 0 when the uploader has failed, or has kMostWaiting already.
    Ticket submit(const Upload& upload);
    /// Returns whether the upload of a ticket is done. Tickets at most 2^31 old.
    bool done(Ticket ticket) const noexcept { return static_cast<std::int32_t>(last_done() - ticket) >= 0; }
    /// Returns the last ticket that is done; 0: none.
    Ticket last_done() const noexcept { return done_->load(std::memory_order_acquire); }
    /// Waits until it is done; false: it failed, or is not done within `patience`.
    bool wait(Ticket ticket, std::chrono::milliseconds patience) const;
    /// Returns why nothing is uploaded any more; none: it works. Earlier uploads have been made then, or
    /// never will be, unless the GPU has stood still for kPatience, which is logged.
    std::optional<std::string> error() const;

  private:
    void run() noexcept;
    void upload_all();
    std::optional<Upload> next();
    bool driver_has_room() const noexcept;

    ContextPointer context_;
    memory::Mapping words_;
    Registered registered_;
    std::atomic<std::uint32_t>* done_;  ///< in words_, written by the GPU
    Stream stream_;
    unsigned in_flight_;
    std::function<void()> at_start_;
    Ticket begun_ = 0;  ///< by the thread
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Upload> waiting_;
    Ticket submitted_ = 0;
    bool stopping_ = false;
    std::optional<std::string> error_;
    std::thread thread_;
};

}  // namespace spead::gpu
