// SPDX-License-Identifier: BSD-3-Clause
#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API  // rte_intr_callback_unregister_sync
#endif
#include "port/link_guard.hpp"

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_interrupts.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace spead::port {

bool link_is_up(std::uint16_t port_id) {
    rte_eth_link link{};
    return rte_eth_link_get_nowait(port_id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/// Watches one connection. Removes itself from EAL at the first event: that event stays pending, and EAL
/// would call back without end.
struct LinkGuard::Watch {
    /// Takes ownership of the descriptor.
    Watch(int duplicate, Gate& g) : gate(g), fd(duplicate) {
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
    InterruptHandle handle;
    std::atomic<bool> gone{false};
};

LinkGuard::LinkGuard(std::uint16_t port_id, Gate& gate)
    : port_id_(port_id), gate_(gate), thread_(InterruptThread::get()) {}

LinkGuard::~LinkGuard() {
    release();
}

bool LinkGuard::wants_watch() const {
    const bool lost = std::ranges::any_of(
        watches_, [](const auto& watch) { return watch->gone.load(std::memory_order_acquire); });
    return (watches_.empty() || lost) && link_is_up(port_id_) && !(watches_.empty() && gate_.is_open());
}

void LinkGuard::watch(const std::function<std::vector<int>()>& find) {
    watches_.clear();  // before the search, which would find their duplicates
    const auto connections = find();
    std::vector<FileDescriptor> duplicates;
    for (const int connection : connections) {
        if (const int fd = ::fcntl(connection, F_DUPFD_CLOEXEC, 0); fd >= 0) {
            duplicates.emplace_back(fd);
        }
    }
    // The PMD may have closed a connection since it was found, and something else have its number.
    const auto found_again = duplicates.empty() ? std::vector<int>{} : find();
    for (FileDescriptor& fd : duplicates) {
        if (std::ranges::find(found_again, fd.get()) != found_again.end()) {
            watches_.push_back(std::make_unique<Watch>(fd.release(), gate_));
        }
    }
    if (watches_.empty() && !connections.empty()) {
        return;  // they have gone in between
    }
    thread_.run([this] {
        if (link_is_up(port_id_)) {
            gate_.open();
        }
    });
}

void LinkGuard::release() {
    gate_.close();
    watches_.clear();
}

}  // namespace spead::port
