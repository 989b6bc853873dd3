// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <concepts>
#include <memory>
#include <string>
#include <type_traits>

#include <fmt/format.h>

#include "gpu/cuda_api.hpp"

/// Uses GPUs through NVIDIA's driver. The program needs nothing of NVIDIA's to be built, to be linked or to
/// run: the driver's library is loaded when a GPU is asked for.
namespace spead::gpu {

/// Holds the driver's library. Each call that fails is an Error with its name, arguments and result. Methods
/// may be called by any thread; control code and engine threads only, never lcores: calls lock and wait.
///
/// The driver does not survive fork(2): in a child of the process that loaded it nothing calls it any more.
/// There load() and call() throw Error, and objects that the child has inherited are given back by nobody.
class Driver {
  public:
    static constexpr const char* kLibrary = "libcuda.so.1";

    /// Loads the library, once per process and path, and starts the driver (cuInit). Throws Error that says
    /// what is missing: the library, a function of it, or a GPU. The library stays loaded.
    static std::shared_ptr<const Driver> load(const std::string& library = kLibrary);

    /// Calls one function: `driver.call(&cuda::Api::allocate, &pointer, bytes)`. Throws Error.
    template <typename... P>
    void call(cuda::Entry<P...> cuda::Api::*entry, std::type_identity_t<P>... arguments) const {
        const cuda::Entry<P...>& e = api_.*entry;
        if (is_inherited()) [[unlikely]]
            refuse_inherited();
        if (const cuda::Result result = e.function(arguments...); result != cuda::kSuccess) [[unlikely]]
            fail(e.name, result, arguments_text(arguments...));
    }

    /// Does call(), and returns false where the answer is that work is not ready yet.
    template <typename... P>
    bool ready(cuda::Entry<P...> cuda::Api::*entry, std::type_identity_t<P>... arguments) const {
        const cuda::Entry<P...>& e = api_.*entry;
        if (is_inherited()) [[unlikely]]
            refuse_inherited();
        const cuda::Result result = e.function(arguments...);
        if (result == cuda::kNotReady)
            return false;
        if (result != cuda::kSuccess) [[unlikely]]
            fail(e.name, result, arguments_text(arguments...));
        return true;
    }

    /// Does call() where a failure can no longer be reported: in destructors. Logs it.
    template <typename... P>
    void try_call(cuda::Entry<P...> cuda::Api::*entry, std::type_identity_t<P>... arguments) const noexcept {
        const cuda::Entry<P...>& e = api_.*entry;
        if (is_inherited()) [[unlikely]]
            return;
        if (const cuda::Result result = e.function(arguments...); result != cuda::kSuccess) [[unlikely]]
            log_failure(e.name, result);
    }

    /// Returns the newest version of CUDA that the driver serves: 13000 is 13.0.
    int version() const;
    /// Returns the number of GPUs, at least 1.
    int devices() const noexcept { return devices_; }

  private:
    explicit Driver(const std::string& library);

    /// Returns whether this process is a child of the one that loaded a driver.
    static bool is_inherited() noexcept { return inherited_.load(std::memory_order_relaxed); }
    [[noreturn]] static void refuse_inherited();

    template <typename T>
    static std::string argument_text(T argument) {
        if constexpr (std::is_same_v<T, const char*>)
            return fmt::format("\"{}\"", argument);
        else if constexpr (std::is_pointer_v<T>)
            return fmt::format("{}", fmt::ptr(reinterpret_cast<const void*>(argument)));
        else if constexpr (std::is_same_v<T, cuda::DevicePointer>)
            return fmt::format("{:#x}", argument);
        else
            return fmt::format("{}", static_cast<long long>(argument));
    }
    template <typename... T>
    static std::string arguments_text(T... arguments) {
        std::string text;
        ((text += (text.empty() ? "" : ", ") + argument_text(arguments)), ...);
        return text;
    }
    [[noreturn]] void fail(const char* name, cuda::Result result, const std::string& arguments) const;
    void log_failure(const char* name, cuda::Result result) const noexcept;
    std::string result_text(cuda::Result result) const;

    static std::atomic<bool> inherited_;

    cuda::Api api_;
    int devices_ = 0;
};

}  // namespace spead::gpu
