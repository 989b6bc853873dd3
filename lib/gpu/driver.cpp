// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/driver.hpp"

#include <dlfcn.h>
#include <map>
#include <mutex>
#include <pthread.h>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"

namespace spead::gpu {

namespace {

constexpr std::string_view kWhere = "GPU";

/// Returns what the user can do about a result; empty: nothing in particular.
std::string_view remedy_for(cuda::Result result) {
    switch (result) {
        case cuda::kOutOfMemory:
            return "free memory of the GPU (nvidia-smi lists its users) or of the host, or ask for less";
        case cuda::kNoDevice:
            return "no GPU is visible: see nvidia-smi, CUDA_VISIBLE_DEVICES, and the container's devices "
                   "(/dev/nvidia*)";
        case cuda::kInvalidDevice:
            return "name a GPU that nvidia-smi lists";
        case cuda::kSystemDriverMismatch:
            return "the kernel's module and libcuda.so.1 are of different versions: load the new module, or "
                   "reboot";
        case cuda::kInvalidPtx:
        case cuda::kUnsupportedPtxVersion:
            return "the driver does not take this program's kernels: install a newer driver";
        case cuda::kHostMemoryAlreadyRegistered:
            return "somebody in this process registered this memory before: unregister it there first";
        case cuda::kNotSupported:
            return "this GPU or this kind of memory cannot do so";
        case cuda::kIllegalAddress:
        case cuda::kLaunchFailed:
            return "the GPU's context is lost: restart the program, and report the fault (compute-sanitizer "
                   "finds its place)";
        default:
            return "nvidia-smi, and the kernel's log (Xid), tell more";
    }
}

template <typename... P>
void find(void* library, const std::string& path, cuda::Entry<P...>& entry) {
    void* const found = dlsym(library, entry.name);
    if (found == nullptr)
        throw_error(std::string(kWhere),
                    "{} has no function {}: it is no driver library of CUDA 12.0 or newer; install NVIDIA's "
                    "driver 525 or newer",
                    path, entry.name);
    entry.function = reinterpret_cast<cuda::Result (*)(P...)>(found);
}

}  // namespace

std::atomic<bool> Driver::inherited_{false};

void Driver::refuse_inherited() {
    throw_error(std::string(kWhere),
                "NVIDIA's driver was loaded by the parent of this process, and does not survive fork(2); use "
                "the GPU in the parent, or start the child with exec(2) (Python: the method spawn)");
}

std::shared_ptr<const Driver> Driver::load(const std::string& library) {
    if (is_inherited())
        refuse_inherited();
    static std::mutex mutex;
    static std::map<std::string, std::shared_ptr<const Driver>> loaded;
    const std::lock_guard lock(mutex);
    std::shared_ptr<const Driver>& driver = loaded[library];
    if (!driver)
        driver = std::shared_ptr<const Driver>(new Driver(library));
    return driver;
}

Driver::Driver(const std::string& path) {
    // Never closed: the driver has threads of its own.
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* const why = dlerror();
        throw_error(
            std::string(kWhere),
            "NVIDIA's driver library cannot be loaded: {}; install NVIDIA's driver (525 or newer; in a "
            "container, let its runtime mount it), or do without memory of a GPU",
            why == nullptr ? path : std::string(why));
    }
#define SPEAD_CUDA_FIND(member, symbol, ...) find(library, path, api_.member);
    SPEAD_CUDA_FUNCTIONS(SPEAD_CUDA_FIND)
#undef SPEAD_CUDA_FIND
    static const int noticed =
        pthread_atfork(nullptr, nullptr, [] { inherited_.store(true, std::memory_order_relaxed); });
    if (noticed != 0)
        throw_error(std::string(kWhere), "no memory to notice fork(2)");
    call(&cuda::Api::init, 0u);
    call(&cuda::Api::device_count, &devices_);
    if (devices_ == 0)
        fail(api_.device_count.name, cuda::kNoDevice, {});
}

int Driver::version() const {
    int version = 0;
    call(&cuda::Api::driver_version, &version);
    return version;
}

std::string Driver::result_text(cuda::Result result) const {
    const char* name = nullptr;
    const char* text = nullptr;
    const bool known = api_.error_name.function(result, &name) == cuda::kSuccess && name != nullptr;
    const bool explained = api_.error_string.function(result, &text) == cuda::kSuccess && text != nullptr;
    return fmt::format("{} ({}{}{})", known ? name : "an unknown error", result, explained ? ": " : "",
                       explained ? text : "");
}

void Driver::fail(const char* name, cuda::Result result, const std::string& arguments) const {
    throw_error(std::string(kWhere), "{}({}) failed: {}; {}", name, arguments, result_text(result),
                remedy_for(result));
}

void Driver::log_failure(const char* name, cuda::Result result) const noexcept {
    try {
        log_warning(LogType::memory, "GPU: {} failed while its object was given back: {}", name,
                    result_text(result));
    } catch (const std::bad_alloc&) {
        log_unsayable(LogType::memory, LogLevel::warning);
    }
}

}  // namespace spead::gpu
