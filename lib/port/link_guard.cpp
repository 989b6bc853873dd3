// SPDX-License-Identifier: BSD-3-Clause
#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API  // rte_intr_instance_alloc and its like
#endif
#include "port/link_guard.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>

#include "base/error.hpp"

namespace spead::port {

namespace {

struct FreeHandle {
    void operator()(rte_intr_handle* handle) const { rte_intr_instance_free(handle); }
};
using Handle = std::unique_ptr<rte_intr_handle, FreeHandle>;

/// What EAL's interrupt thread calls when `fd` is readable or hung up.
Handle call_back_on(int fd, rte_intr_callback_fn callback, void* argument) {
    Handle handle{rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE)};
    if (handle == nullptr || rte_intr_fd_set(handle.get(), fd) != 0 ||
        rte_intr_type_set(handle.get(), RTE_INTR_HANDLE_EXT) != 0) {
        throw_error("peer connection", "EAL makes no interrupt handle: {}", rte_strerror(rte_errno));
    }
    if (const int error = rte_intr_callback_register(handle.get(), callback, argument); error != 0) {
        throw_error("peer connection", "EAL takes no interrupt callback: {}", rte_strerror(-error));
    }
    return handle;
}

bool link_is_up(std::uint16_t port_id) {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(port_id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

}  // namespace

void Gate::close() noexcept {
    open_.store(false, std::memory_order_seq_cst);
    for (const Presence& presence : presences_) {
        while (presence.inside.load(std::memory_order_seq_cst)) {
            sched_yield();
        }
    }
}

/// One watched connection. Removes itself from EAL when the first event comes: that event stays pending, and
/// EAL would call back for ever.
struct LinkGuard::Watch {
    Watch(int connection, Gate& g) : gate(g), fd(::fcntl(connection, F_DUPFD_CLOEXEC, 0)) {
        if (fd < 0) {
            throw_error("peer connection", "it cannot be watched: {}", std::strerror(errno));
        }
        try {
            handle = call_back_on(fd, event, this);
        } catch (const Error&) {
            ::close(fd);
            throw;
        }
    }
    ~Watch() {
        if (!gone.load(std::memory_order_acquire) &&
            rte_intr_callback_unregister_sync(handle.get(), event, this) > 0) {
            ::close(fd);
        }
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    static void event(void* self) {
        auto& watch = *static_cast<Watch*>(self);
        watch.gate.close();
        rte_intr_callback_unregister_pending(watch.handle.get(), event, self, removed);
    }
    static void removed(rte_intr_handle*, void* self) {
        auto& watch = *static_cast<Watch*>(self);
        ::close(watch.fd);
        watch.gone.store(true, std::memory_order_release);
    }

    Gate& gate;
    int fd;
    Handle handle;
    std::atomic<bool> gone{false};
};

/// Opens the gate in the interrupt thread: after it has taken up the watches, and never between the PMD's
/// handling of a disconnect and ours.
struct LinkGuard::Opener {
    Opener(std::uint16_t id, Gate& g) : port_id(id), gate(g), fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (fd < 0) {
            throw_error("peer connection", "no event descriptor: {}", std::strerror(errno));
        }
        try {
            handle = call_back_on(fd, event, this);
        } catch (const Error&) {
            ::close(fd);
            throw;
        }
    }
    ~Opener() {
        (void)rte_intr_callback_unregister_sync(handle.get(), event, this);
        ::close(fd);
    }
    Opener(const Opener&) = delete;
    Opener& operator=(const Opener&) = delete;

    void request() {
        allowed.store(true, std::memory_order_seq_cst);
        const std::uint64_t one = 1;
        (void)!::write(fd, &one, sizeof one);
    }
    static void event(void* self) {
        const auto& opener = *static_cast<Opener*>(self);
        std::uint64_t count = 0;
        if (::read(opener.fd, &count, sizeof count) == ssize_t{sizeof count} && opener.allowed &&
            link_is_up(opener.port_id)) {
            opener.gate.open();
            if (!opener.allowed) {
                opener.gate.close();
            }
        }
    }

    std::uint16_t port_id;
    Gate& gate;
    int fd;
    Handle handle;
    std::atomic<bool> allowed{false};  ///< cleared by release(), which a late event must not undo
};

LinkGuard::LinkGuard(std::uint16_t port_id, Gate& gate)
    : port_id_(port_id), gate_(gate), opener_(std::make_unique<Opener>(port_id, gate)) {}

LinkGuard::~LinkGuard() {
    release();
}

bool LinkGuard::wants_watch() const {
    const bool lost = std::ranges::any_of(
        watches_, [](const auto& watch) { return watch->gone.load(std::memory_order_acquire); });
    return (watches_.empty() || lost) && link_is_up(port_id_);
}

void LinkGuard::watch(std::span<const int> connections) {
    watches_.clear();
    for (const int connection : connections) {
        watches_.push_back(std::make_unique<Watch>(connection, gate_));
    }
    // EAL takes new descriptors up when it reads its pipe, which was written before this event.
    opener_->request();
}

void LinkGuard::release() {
    opener_->allowed = false;
    gate_.close();
    watches_.clear();
}

}  // namespace spead::port
