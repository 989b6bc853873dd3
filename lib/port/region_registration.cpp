// SPDX-License-Identifier: BSD-3-Clause
#include "port/region_registration.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/core.h>
#include <rte_dev.h>
#include <rte_errno.h>

#include "base/error.hpp"
#include "port/device_calls.hpp"
#include "port/port.hpp"

namespace spead::port {

namespace {

/// Shares registrations. EAL refuses to register the same pages twice, and a device to map them twice; small
/// regions may share pages.
struct Shared {
    unsigned users = 0;
    std::map<rte_device*, unsigned> mapped;
};

std::map<RegisteredPages, Shared>& shared_pages() {
    // Never destroyed: ports may be closed while the process ends.
    static auto& pages = *new std::map<RegisteredPages, Shared>;
    return pages;
}

void* address_of(const RegisteredPages& pages) {
    return reinterpret_cast<void*>(pages.base);
}

std::string describe(const RegisteredPages& pages, memory::MemoryKind kind) {
    return fmt::format("the region of {} bytes at {:#x}{}", pages.length, pages.base,
                       memory::cpu_accessible(kind) ? "" : " in a GPU's memory");
}

/// Limits the small pages of memory of a GPU: net_mlx5 sorts all pages of a region at each that it meets.
constexpr std::size_t kMostSmallPages = 16384;
constexpr std::size_t kLargePage = std::size_t{2} << 20;
constexpr std::size_t kGpuPage = std::size_t{64} << 10;

}  // namespace

RegisteredPages pages_around(const void* base, std::size_t length, memory::MemoryKind kind) noexcept {
    const std::size_t page = memory::cpu_accessible(kind) ? 4096 : kGpuPage;
    const auto first = reinterpret_cast<std::uintptr_t>(base) / page * page;
    const auto end = (reinterpret_cast<std::uintptr_t>(base) + length + page - 1) / page * page;
    RegisteredPages pages{first, end - first, page};
    for (const std::size_t larger : {std::size_t{1} << 30, kLargePage}) {
        if (pages.base % larger == 0 && pages.length % larger == 0) {
            pages.page_size = larger;
            break;
        }
    }
    return pages;
}

RegionRegistration::RegionRegistration(void* base, std::size_t length, memory::MemoryKind kind)
    : pages_(pages_around(base, length, kind)), kind_(kind) {
    if (base == nullptr || length == 0) {
        throw Error("an empty region cannot be registered");
    }
    if (!memory::cpu_accessible(kind) && pages_.length / pages_.page_size > kMostSmallPages &&
        pages_.page_size < kLargePage) {
        throw_error("memory region",
                    "{} has {} pages of {} bytes, and {} are the most; let it begin at a multiple of 2 MiB, "
                    "and have whole pages of 2 MiB",
                    describe(pages_, kind_), pages_.length / pages_.page_size, pages_.page_size,
                    kMostSmallPages);
    }
    Shared& shared = shared_pages()[pages_];
    if (shared.users == 0 &&
        device_calls().extmem_register(address_of(pages_), pages_.length, pages_.page_size) != 0) {
        const int error = rte_errno;
        shared_pages().erase(pages_);
        throw_error("memory region", "EAL cannot register {}: {}{}", describe(pages_, kind_),
                    rte_strerror(error), error == ENOSPC ? "; register fewer, larger regions" : "");
    }
    ++shared.users;
}

void RegionRegistration::map(const Port& port) {
    rte_device* device = port.device();
    if (device == nullptr) {
        throw_error(port.name(), "{} cannot be mapped: the port is closed", describe(pages_, kind_));
    }
    map(*device, port.name());
}

void RegionRegistration::map(rte_device& on, const std::string& name) {
    rte_device* const device = &on;
    if (std::ranges::find(devices_, device) != devices_.end()) {
        return;
    }
    Shared& shared = shared_pages()[pages_];
    if (shared.mapped[device] == 0 &&
        device_calls().dma_map(device, address_of(pages_), pages_.base, pages_.length) != 0) {
        const int error = rte_errno;
        shared.mapped.erase(device);
        throw_error(
            name, "the device {} cannot map {}: {}{}", rte_dev_name(device), describe(pages_, kind_),
            rte_strerror(error),
            memory::cpu_accessible(kind_)
                ? ""
                : "; a card reaches memory of a GPU by way of the module nvidia-peermem: run `modprobe "
                  "nvidia-peermem`, which NVIDIA's driver has");
    }
    ++shared.mapped[device];
    devices_.push_back(device);
}

RegionRegistration::~RegionRegistration() {
    const auto it = shared_pages().find(pages_);
    Shared& shared = it->second;
    for (auto device = devices_.rbegin(); device != devices_.rend(); ++device) {
        if (--shared.mapped[*device] == 0) {
            shared.mapped.erase(*device);
            (void)device_calls().dma_unmap(*device, address_of(pages_), pages_.base, pages_.length);
        }
    }
    if (--shared.users == 0) {
        (void)device_calls().extmem_unregister(address_of(pages_), pages_.length);
        shared_pages().erase(it);
    }
}

}  // namespace spead::port
