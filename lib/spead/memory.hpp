// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <spead/process.hpp>
#include <string_view>

namespace spead {

/// Holds memory that ports may read directly: heaps with items in it are sent without a copy if the port can
/// do that. Any thread. A handle: all copies mean the same memory, which is registered until the last of them
/// and the last heap in flight from it are gone. When the session is ending just then, that waits for the
/// end. Memory of an ended session is copied from, as any other.
class SPEAD_API Memory {
  public:
    /// Copies the handle. There is no move.
    Memory(const Memory&) = default;
    Memory& operator=(const Memory&) = default;
    ~Memory() = default;

    /// Maps memory of our own, zeroed, on huge pages if some are free. Throws Error, with the sum, when the
    /// machine does not have it.
    static Memory huge(const Process& process, std::size_t bytes);
    /// Maps the same without a session, for streams without ports and for chunks. Ports copy from it.
    static Memory huge(std::size_t bytes);

    /// Maps the same, and registers it with NVIDIA's driver: GPUs copy from it without a copy between, and
    /// kernels reach it. All contexts of the process know it as pinned. A child of fork(2) may read it, and
    /// makes none of its own. Throws Error that says what is missing when there is no driver or no GPU.
    static Memory cuda_pinned(std::size_t bytes);

    /// Allocates memory of the first GPU (CUDA_VISIBLE_DEVICES), of whole pages of 2 MiB. Ports send from it
    /// without a copy, if they can: net_mlx5, by GPUDirect RDMA. All others refuse heaps from it by name. No
    /// code of the CPU reads or writes it. Its contents are the user's: heaps are submitted when the work
    /// that fills them is done (cuEventSynchronize, cudaStreamSynchronize). Throws Error: no driver, no GPU,
    /// no room, a GPU whose memory cards cannot read, a port's device that refuses it.
    static Memory cuda_device(const Process& process, std::size_t bytes);
    /// Registers memory of the user's on any GPU of this process, as part of one allocation; `address` is a
    /// CUdeviceptr. The user frees it only after the last handle is gone and every heap that refers to it was
    /// completed: a card would go on reading. Large ranges of whole pages of 2 MiB suit cards best. Throws
    /// Error as the former, and for memory that is none of a GPU's.
    static Memory cuda_device(const Process& process, std::uintptr_t address, std::size_t bytes);

    /// Registers memory of the user's, who frees it only after the last handle is gone and every heap that
    /// refers to it was completed. The library does not notice a free(), and ports would go on reading. Give
    /// whole pages (4 KiB, aligned), and few large ranges rather than many small ones. Throws Error: an empty
    /// range, one that overlaps another, too many, a device that refuses.
    Memory(const Process& process, void* base, std::size_t bytes);

    /// Returns the memory. Of a GPU's, these are addresses for SendHeap::add() alone.
    std::span<std::byte> bytes() const noexcept;
    /// Returns whether it is memory of a GPU, which the CPU must not touch.
    bool on_gpu() const noexcept;
    /// Says which pages memory of our own has: "huge pages", "transparent huge pages" or "4 KiB pages". Empty
    /// for the user's.
    std::string_view pages() const noexcept;
    /// Returns the address by which GPUs reach it; 0: they do not, or it is memory of the user's CPU.
    std::uintptr_t gpu_address() const noexcept;
    template <class T>
    std::span<T> as() const noexcept {
        return {reinterpret_cast<T*>(bytes().data()), bytes().size() / sizeof(T)};
    }

    struct State;

  private:
    explicit Memory(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
    static Memory with_session(const Process& process, std::shared_ptr<State> state);
    std::shared_ptr<State> state_;
};

}  // namespace spead
