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
        entries_.emplace(base, Entry{end, memory});
    }
    try {
        memory->session->on_engine([&](runtime::Engine& engine) {
            engine.add_region({base, memory->bytes.size()});
        });
        memory->registered = true;
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

void UserMemory::hold(std::span<const std::span<const std::byte>> ranges, Handles& held) {
    const std::lock_guard lock(mutex_);
    if (entries_.empty())
        return;
    for (const std::span<const std::byte>& range : ranges) {
        if (range.empty())
            continue;
        const std::byte* const end = range.data() + range.size();
        auto at = entries_.upper_bound(range.data());
        if (at != entries_.begin() && std::less<>()(range.data(), std::prev(at)->second.end))
            --at;
        for (; at != entries_.end() && std::less<>()(at->first, end); ++at) {
            if (!held.empty() && held.back()->bytes.data() == at->first)
                continue;
            std::shared_ptr<Memory::State> memory = at->second.memory.lock();
            if (!memory)
                throw_error(
                    "memory",
                    "an item lies in memory at {} whose last handle another thread is destroying; keep "
                    "the handle while heaps are sent from the memory",
                    static_cast<const void*>(at->first));
            held.push_back(std::move(memory));
        }
    }
}

}  // namespace door

Memory::State::~State() {
    if (registered && door::is_own_process())
        door::UserMemory::instance().remove(*this);
}

Memory::Memory(const Process& process, void* base, std::size_t bytes) {
    auto state = std::make_shared<State>();
    state->session = process.session_;
    state->bytes = {static_cast<std::byte*>(base), bytes};
    door::UserMemory::instance().add(state);
    state_ = std::move(state);
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

std::span<std::byte> Memory::bytes() const noexcept {
    return state_ ? state_->bytes : std::span<std::byte>();
}

std::uintptr_t Memory::gpu_address() const noexcept {
    return state_ && state_->on_gpu ? state_->on_gpu->address_of(state_->own.base()) : 0;
}

std::string_view Memory::pages() const noexcept {
    return state_ && state_->own.base() != nullptr ? memory::name_of(state_->own.backing()) : "";
}

}  // namespace spead
