// SPDX-License-Identifier: BSD-3-Clause
#include "spead/memory.hpp"

#include <functional>
#include <limits>
#include <utility>

#include "base/current_reason.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "spead/main_thread.hpp"
#include "spead/plan_edits.hpp"
#include "spead/session.hpp"
#include "spead/user_memory.hpp"

namespace spead {

namespace door {

UserMemory& UserMemory::instance() {
    // Handles may outlive every other object.
    static auto* const all = new UserMemory;
    return *all;
}

void UserMemory::add(const std::shared_ptr<Memory::State>& memory) {
    std::byte* const base = memory->bytes.data();
    if (base == nullptr || memory->bytes.empty() ||
        memory->bytes.size() >
            std::numeric_limits<std::uintptr_t>::max() - reinterpret_cast<std::uintptr_t>(base))
        throw_usage("memory", "{} bytes at {} are not a range of memory; give its base and length",
                    memory->bytes.size(), static_cast<const void*>(base));
    std::byte* const end = base + memory->bytes.size();
    {
        const std::lock_guard lock(mutex_);
        const auto next = entries_.lower_bound(base);
        const auto refuse = [&](auto other) {
            throw_error("memory", "[{}, {}) overlaps [{}, {}), which is registered already",
                        static_cast<const void*>(base), static_cast<const void*>(end),
                        static_cast<const void*>(other->first), static_cast<const void*>(other->second.end));
        };
        if (next != entries_.end() && std::less<>()(next->first, end))
            refuse(next);
        if (next != entries_.begin() && std::less<>()(base, std::prev(next)->second.end))
            refuse(std::prev(next));
        entries_.emplace(base, Entry{end, memory, memory->kind(), memory->session.get()});
    }
    try {
        memory->session->on_engine([&](runtime::Engine& engine) { engine.add_region(memory->region()); });
        memory->registered = true;
        const std::lock_guard lock(mutex_);
        entries_.at(base).ready = true;
    } catch (...) {
        const std::lock_guard lock(mutex_);
        entries_.erase(base);
        throw;
    }
}

void UserMemory::remove(const Memory::State& memory) noexcept {
    try {
        memory.session->on_engine(
            [&](runtime::Engine& engine) { engine.remove_region(memory.bytes.data()); });
    } catch (const Ending&) {
        // With the session all of its memory is unregistered, and only then is it the user's.
        memory.session->wait_for_end();
    } catch (...) {
        if (memory.session->running())
            log_error(LogType::app, "memory at {} cannot be unregistered: {}",
                      static_cast<const void*>(memory.bytes.data()), reason_of_current());
    }
    const std::lock_guard lock(mutex_);
    entries_.erase(memory.bytes.data());
}

/// Returns the first entry that ends behind the first byte of the memory.
UserMemory::Entries::iterator UserMemory::first_of(std::span<const std::byte> memory) {
    const auto after = entries_.upper_bound(memory.data());
    if (after != entries_.begin() && std::less<>()(memory.data(), std::prev(after)->second.end))
        return std::prev(after);
    return after;
}

void UserMemory::hold(const ItemMemory& item, const Session* session, Handles& held) {
    const std::byte* const end = item.bytes.data() + item.bytes.size();
    // All before it lies in memory of a GPU that the session's ports know.
    const std::byte* known = item.bytes.data();
    bool on_gpu = item.on_gpu;
    for (auto at = first_of(item.bytes); at != entries_.end() && std::less<>()(at->first, end); ++at) {
        const Entry& entry = at->second;
        if (entry.kind == memory::MemoryKind::device) {
            on_gpu = true;
            if (entry.session == session && entry.ready && !std::less<>()(known, at->first))
                known = entry.end;
        }
        if (!held.empty() && held.back()->bytes.data() == at->first)
            continue;
        std::shared_ptr<Memory::State> memory = entry.memory.lock();
        if (!memory)
            throw_error("memory",
                        "an item lies in memory at {} whose last handle another thread is destroying; keep "
                        "the handle while heaps are sent from the memory",
                        static_cast<const void*>(at->first));
        held.push_back(std::move(memory));
    }
    if (!on_gpu)
        return;
    if (session == nullptr)
        throw_error(
            "memory",
            "an item of {} bytes at {} lies in memory of a GPU, which sockets of the kernel, queues and "
            "files cannot send from; send it over a port of net_mlx5, or copy it to the CPU first",
            item.bytes.size(), static_cast<const void*>(item.bytes.data()));
    if (std::less<>()(known, end))
        throw_error(
            "memory",
            "an item of {} bytes at {} lies in memory of a GPU, of which the stream's session knows {}; "
            "make one Memory of all of it (Memory::cuda_device) with this session, and keep it",
            item.bytes.size(), static_cast<const void*>(item.bytes.data()), known - item.bytes.data());
}

void UserMemory::hold(std::span<const ItemMemory> items, const Session* session, Handles& held) {
    const std::lock_guard lock(mutex_);
    for (const ItemMemory& item : items)
        if (!item.bytes.empty() && (item.on_gpu || !entries_.empty()))
            hold(item, session, held);
}

bool UserMemory::on_gpu(std::span<const std::byte> memory) {
    const std::lock_guard lock(mutex_);
    const std::byte* const end = memory.data() + memory.size();
    for (auto at = first_of(memory); at != entries_.end() && std::less<>()(at->first, end); ++at)
        if (at->second.kind == memory::MemoryKind::device)
            return true;
    return false;
}

void need_chunk_memory(const std::string& where, std::span<const std::byte> memory) {
    if (UserMemory::instance().on_gpu(memory))
        throw_error(where,
                    "{} bytes at {} lie in memory of a GPU, and lcores write chunks; give memory of the CPU",
                    memory.size(), static_cast<const void*>(memory.data()));
}

}  // namespace door

Memory::State::~State() {
    if (registered && door::is_own_process())
        door::UserMemory::instance().remove(*this);
}

Memory::Memory(const Process& process, void* base, std::size_t bytes) {
    auto state = std::make_shared<State>();
    state->bytes = {static_cast<std::byte*>(base), bytes};
    *this = with_session(process, std::move(state));
}

Memory Memory::huge(std::size_t bytes) {
    if (bytes == 0)
        throw_usage("memory", "0 bytes cannot be mapped; ask for at least 1");
    door::need_room("memory", "bytes", bytes);
    auto state = std::make_shared<State>();
    try {
        state->own = memory::Mapping(bytes);
    } catch (const Error&) {
        throw_error("memory", "{} cannot be mapped: {} are available; ask for less, or reserve huge pages",
                    human_size(bytes), human_size(memory::available_memory()));
    }
    state->bytes = {state->own.base(), bytes};
    return Memory(std::move(state));
}

Memory Memory::cuda_pinned(std::size_t bytes) {
    gpu::ContextPointer context = gpu::Context::open(gpu::Driver::load());
    Memory memory = huge(bytes);
    const memory::Mapping& own = memory.state_->own;
    memory.state_->on_gpu.emplace(std::move(context), own.base(), own.length());
    return memory;
}

Memory Memory::huge(const Process& process, std::size_t bytes) {
    Memory memory = huge(bytes);
    memory.state_->session = process.session_;
    door::UserMemory::instance().add(memory.state_);
    return memory;
}

/// Registers the memory with the session's ports.
Memory Memory::with_session(const Process& process, std::shared_ptr<State> state) {
    state->session = process.session_;
    door::UserMemory::instance().add(state);
    return Memory(std::move(state));
}

Memory Memory::cuda_device(const Process& process, std::size_t bytes) {
    if (bytes == 0)
        throw_usage("memory", "0 bytes cannot be allocated on a GPU; ask for at least 1");
    auto state = std::make_shared<State>();
    state->device.emplace(gpu::PeerMemory::allocate(gpu::Driver::load(), bytes));
    state->bytes = state->device->region().bytes().first(bytes);
    return with_session(process, std::move(state));
}

Memory Memory::cuda_device(const Process& process, std::uintptr_t address, std::size_t bytes) {
    auto state = std::make_shared<State>();
    state->device.emplace(gpu::PeerMemory::of(gpu::Driver::load(), address, bytes));
    state->bytes = state->device->region().bytes();
    return with_session(process, std::move(state));
}

std::span<std::byte> Memory::bytes() const noexcept {
    return state_ ? state_->bytes : std::span<std::byte>();
}

std::uintptr_t Memory::gpu_address() const noexcept {
    if (state_ && state_->device)
        return state_->device->address();
    return state_ && state_->on_gpu ? state_->on_gpu->address_of(state_->own.base()) : 0;
}

bool Memory::on_gpu() const noexcept {
    return state_ && state_->device;
}

std::string_view Memory::pages() const noexcept {
    return state_ && state_->own.base() != nullptr ? memory::name_of(state_->own.backing()) : "";
}

}  // namespace spead
