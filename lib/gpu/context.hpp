// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "gpu/driver.hpp"

namespace spead::gpu {

/// Describes a GPU, as its driver does.
struct DeviceFacts {
    std::string name;
    std::string address;     ///< PCI address, in lower case
    std::size_t memory = 0;  ///< bytes
    int capability = 0;      ///< compute capability: 90 is 9.0
    int multiprocessors = 0;
    int copy_engines = 0;
    bool registers_host = false;     ///< host memory can be registered
    bool same_host_pointer = false;  ///< registered memory has the CPU's addresses
    bool rdma = false;               ///< cards may reach its memory (GPUDirect RDMA)
    bool dma_buf = false;            ///< its memory can be exported as a dma-buf
    int writes_ordering = 0;         ///< 0, 100, 200: cuda::kRdmaWritesOrdering
};

/// Holds the primary context of one GPU, which the runtime API, PyTorch and CuPy use, too. Any thread may use
/// it; objects made of it hold it.
class Context {
  public:
    /// Retains the context of GPU `ordinal`, as the driver numbers them (CUDA_VISIBLE_DEVICES). Throws Error.
    static std::shared_ptr<const Context> open(std::shared_ptr<const Driver> driver, int ordinal = 0);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    const Driver& driver() const noexcept { return *driver_; }
    const std::shared_ptr<const Driver>& shared_driver() const noexcept { return driver_; }
    /// Makes it the context of the calling thread. Each thread does so once, before its first call. Throws
    /// Error.
    void use() const { driver_->call(&cuda::Api::use_context, context_); }
    /// Makes it the context of the calling thread while it lives, on threads of the user's, who may have
    /// another one. Throws Error.
    class Visit {
      public:
        explicit Visit(const Context& context) : driver_(context.driver()) {
            driver_.call(&cuda::Api::push_context, context.context_);
        }
        ~Visit() {
            cuda::Context left = nullptr;
            driver_.try_call(&cuda::Api::pop_context, &left);
        }
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;

      private:
        const Driver& driver_;
    };
    /// Does so in a destructor.
    void try_use() const noexcept { driver_->try_call(&cuda::Api::use_context, context_); }
    const DeviceFacts& facts() const noexcept { return facts_; }

  private:
    Context(std::shared_ptr<const Driver> driver, int ordinal);
    int attribute(cuda::Attribute attribute) const;

    std::shared_ptr<const Driver> driver_;
    cuda::Device device_ = 0;
    DeviceFacts facts_;
    cuda::Context context_ = nullptr;
};

using ContextPointer = std::shared_ptr<const Context>;

}  // namespace spead::gpu
