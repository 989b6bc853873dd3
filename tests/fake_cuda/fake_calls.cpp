// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernels/gather.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"

using namespace fake_cuda;

#define FAKE_CALL(symbol, ...) extern "C" __attribute__((visibility("default"))) Result symbol(__VA_ARGS__)
#define FAIL_IF_ASKED(symbol) \
    if (fails(#symbol))       \
    return kOutOfMemory

namespace {

/// Holds the contexts of the thread, the current one last.
thread_local std::vector<Context> current;

struct FakeModule {
    std::string ptx;
};

enum class Kernel : std::uintptr_t { none, gather, read };

/// Returns the driver's name of a result that this library returns.
const char* name_of(Result result) {
    switch (result) {
        case kInvalidValue:
            return "CUDA_ERROR_INVALID_VALUE";
        case kOutOfMemory:
            return "CUDA_ERROR_OUT_OF_MEMORY";
        case kNoDevice:
            return "CUDA_ERROR_NO_DEVICE";
        case kInvalidDevice:
            return "CUDA_ERROR_INVALID_DEVICE";
        case kInvalidPtx:
            return "CUDA_ERROR_INVALID_PTX";
        case kNotFound:
            return "CUDA_ERROR_NOT_FOUND";
        case kIllegalAddress:
            return "CUDA_ERROR_ILLEGAL_ADDRESS";
        case kHostMemoryAlreadyRegistered:
            return "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED";
        case kHostMemoryNotRegistered:
            return "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED";
        default:
            return nullptr;
    }
}

/// Runs the gather kernel, warp by warp. False: an address that the GPU does not reach.
bool gather(DevicePointer pieces, unsigned count) {
    Gpu& gpu = Gpu::get();
    const auto* const list = reinterpret_cast<const spead::gpu::kernels::Piece*>(
        gpu.reach(pieces, count * sizeof(spead::gpu::kernels::Piece)));
    if (list == nullptr)
        return false;
    for (unsigned i = 0; i < count; i++) {
        spead::gpu::kernels::Piece piece = list[i];
        const std::byte* const from = gpu.reach(piece.from, piece.length);
        const std::byte* const to = gpu.reach(piece.to, piece.length);
        if (from == nullptr || to == nullptr)
            return false;
        // The same offset in a page, so the same alignment.
        piece.from = reinterpret_cast<std::uintptr_t>(from);
        piece.to = reinterpret_cast<std::uintptr_t>(to);
        spead::gpu::kernels::copy_piece(piece, 0);
    }
    return true;
}

/// Copies what both sides of a copy reach.
Result copy(DevicePointer to, DevicePointer from, std::size_t length, Stream stream) {
    return Gpu::get().submit(stream, [=] {
        std::byte* const target = Gpu::get().reach(to, length);
        const std::byte* const source = Gpu::get().reach(from, length);
        if (target == nullptr || source == nullptr)
            return false;
        std::memmove(target, source, length);
        return true;
    });
}

void put(char* text, int length, const char* value) {
    std::snprintf(text, static_cast<std::size_t>(length), "%s", value);
}

}  // namespace

/// Returns what a process still owns of the driver's. For tests alone.
extern "C" __attribute__((visibility("default"))) int fake_cuda_live() {
    return Gpu::get().live();
}

/// Returns how many pieces of work the GPU has not done. For tests alone.
extern "C" __attribute__((visibility("default"))) int fake_cuda_pending() {
    return Gpu::get().pending();
}

/// Sets a wish; empty: none any more. For tests alone, at any time.
extern "C" __attribute__((visibility("default"))) void fake_cuda_wish(const char* name, const char* value) {
    set_wish(name, value);
}

FAKE_CALL(cuInit, unsigned flags) {
    FAIL_IF_ASKED(cuInit);
    return flags == 0 ? kSuccess : kInvalidValue;
}

FAKE_CALL(cuDriverGetVersion, int* version) {
    FAIL_IF_ASKED(cuDriverGetVersion);
    *version = 12000;
    return kSuccess;
}

FAKE_CALL(cuGetErrorName, Result result, const char** name) {
    FAIL_IF_ASKED(cuGetErrorName);
    *name = name_of(result);
    return *name == nullptr ? kInvalidValue : kSuccess;
}

FAKE_CALL(cuGetErrorString, Result result, const char** text) {
    FAIL_IF_ASKED(cuGetErrorString);
    *text = name_of(result) == nullptr ? nullptr : "as the fake driver was asked";
    return *text == nullptr ? kInvalidValue : kSuccess;
}

FAKE_CALL(cuDeviceGetCount, int* count) {
    FAIL_IF_ASKED(cuDeviceGetCount);
    *count = wish("FAKE_CUDA_DEVICES") == "0" ? 0 : 1;
    return kSuccess;
}

FAKE_CALL(cuDeviceGet, Device* device, int ordinal) {
    FAIL_IF_ASKED(cuDeviceGet);
    *device = ordinal;
    return ordinal == 0 ? kSuccess : kInvalidDevice;
}

FAKE_CALL(cuDeviceGetName, char* name, int length, Device) {
    FAIL_IF_ASKED(cuDeviceGetName);
    put(name, length, "Fake GPU");
    return kSuccess;
}

FAKE_CALL(cuDeviceGetPCIBusId, char* address, int length, Device) {
    FAIL_IF_ASKED(cuDeviceGetPCIBusId);
    put(address, length, "0000:FA:CE.0");
    return kSuccess;
}

FAKE_CALL(cuDeviceGetAttribute, int* value, Attribute attribute, Device) {
    FAIL_IF_ASKED(cuDeviceGetAttribute);
    switch (attribute) {
        case kComputeCapabilityMajor:
            *value = 9;
            break;
        case kHostRegisterSupported:
        case kRdmaSupported:
        case kHostPointerForRegisteredMemory:
        case kMultiprocessors:
        case kCopyEngines:
            *value = 1;
            break;
        case kRdmaWritesOrdering:
            *value = wish("FAKE_CUDA_UNORDERED").empty() ? 100 : 0;
            break;
        default:
            *value = 0;
    }
    return kSuccess;
}

FAKE_CALL(cuDeviceTotalMem_v2, std::size_t* bytes, Device) {
    FAIL_IF_ASKED(cuDeviceTotalMem_v2);
    *bytes = std::size_t{4} << 30;
    return kSuccess;
}

FAKE_CALL(cuDevicePrimaryCtxRetain, Context* context, Device) {
    FAIL_IF_ASKED(cuDevicePrimaryCtxRetain);
    Gpu::get().own(1);
    *context = reinterpret_cast<Context>(&Gpu::get());
    return kSuccess;
}

FAKE_CALL(cuDevicePrimaryCtxRelease_v2, Device) {
    Gpu::get().own(-1);
    FAIL_IF_ASKED(cuDevicePrimaryCtxRelease_v2);
    return kSuccess;
}

FAKE_CALL(cuCtxSetCurrent, Context context) {
    FAIL_IF_ASKED(cuCtxSetCurrent);
    if (current.empty())
        current.push_back(nullptr);
    current.back() = context;
    return context == reinterpret_cast<Context>(&Gpu::get()) ? kSuccess : kInvalidValue;
}

FAKE_CALL(cuCtxGetCurrent, Context* context) {
    *context = current.empty() ? nullptr : current.back();
    return kSuccess;
}

FAKE_CALL(cuCtxPushCurrent_v2, Context context) {
    FAIL_IF_ASKED(cuCtxPushCurrent_v2);
    current.push_back(context);
    return context == reinterpret_cast<Context>(&Gpu::get()) ? kSuccess : kInvalidValue;
}

FAKE_CALL(cuCtxPopCurrent_v2, Context* context) {
    if (current.empty())
        return kInvalidValue;
    *context = current.back();
    current.pop_back();
    FAIL_IF_ASKED(cuCtxPopCurrent_v2);
    return kSuccess;
}

FAKE_CALL(cuMemGetAddressRange_v2, DevicePointer* base, std::size_t* size, DevicePointer p) {
    FAIL_IF_ASKED(cuMemGetAddressRange_v2);
    return Gpu::get().allocation_of(p, *base, *size) ? kSuccess : kNotFound;
}

FAKE_CALL(cuPointerGetAttribute, void* value, PointerAttribute attribute, DevicePointer p) {
    FAIL_IF_ASKED(cuPointerGetAttribute);
    DevicePointer base = 0;
    std::size_t size = 0;
    const bool on_gpu = Gpu::get().allocation_of(p, base, size);
    if (!on_gpu && !Gpu::get().registered(reinterpret_cast<const void*>(p), 1))
        return kInvalidValue;
    auto& answer = *static_cast<unsigned*>(value);
    answer = 0;
    if (attribute == kPointerMemoryType)
        answer = on_gpu ? kDeviceMemory : 1;
    else if (attribute == kPointerIsManaged)
        answer = wish("FAKE_CUDA_MANAGED").empty() ? 0 : 1;
    return kSuccess;
}

FAKE_CALL(cuPointerSetAttribute, const void* value, PointerAttribute attribute, DevicePointer p) {
    FAIL_IF_ASKED(cuPointerSetAttribute);
    DevicePointer base = 0;
    std::size_t size = 0;
    return attribute == kPointerSyncMemops && *static_cast<const unsigned*>(value) == 1 &&
                   Gpu::get().allocation_of(p, base, size)
               ? kSuccess
               : kInvalidValue;
}

FAKE_CALL(cuMemAlloc_v2, DevicePointer* pointer, std::size_t bytes) {
    FAIL_IF_ASKED(cuMemAlloc_v2);
    return Gpu::get().allocate(*pointer, bytes);
}

FAKE_CALL(cuMemFree_v2, DevicePointer pointer) {
    wait_while_stalled();
    const Result result = Gpu::get().free(pointer);
    FAIL_IF_ASKED(cuMemFree_v2);
    return result;
}

FAKE_CALL(cuMemHostRegister_v2, void* base, std::size_t length, unsigned) {
    FAIL_IF_ASKED(cuMemHostRegister_v2);
    return Gpu::get().register_host(static_cast<std::byte*>(base), length);
}

FAKE_CALL(cuMemHostUnregister, void* base) {
    const Result result = Gpu::get().unregister_host(static_cast<std::byte*>(base));
    FAIL_IF_ASKED(cuMemHostUnregister);
    return result;
}

FAKE_CALL(cuMemHostGetDevicePointer_v2, DevicePointer* out, void* p, unsigned) {
    FAIL_IF_ASKED(cuMemHostGetDevicePointer_v2);
    *out = reinterpret_cast<std::uintptr_t>(p);
    return Gpu::get().registered(p, 1) ? kSuccess : kInvalidValue;
}

FAKE_CALL(cuMemcpyHtoDAsync_v2, DevicePointer to, const void* from, std::size_t length, Stream stream) {
    FAIL_IF_ASKED(cuMemcpyHtoDAsync_v2);
    return copy(to, reinterpret_cast<std::uintptr_t>(from), length, stream);
}

FAKE_CALL(cuMemcpyDtoHAsync_v2, void* to, DevicePointer from, std::size_t length, Stream stream) {
    FAIL_IF_ASKED(cuMemcpyDtoHAsync_v2);
    return copy(reinterpret_cast<std::uintptr_t>(to), from, length, stream);
}

FAKE_CALL(cuMemcpyAsync, DevicePointer to, DevicePointer from, std::size_t length, Stream stream) {
    FAIL_IF_ASKED(cuMemcpyAsync);
    return copy(to, from, length, stream);
}

FAKE_CALL(cuMemsetD8Async, DevicePointer to, unsigned char value, std::size_t length, Stream stream) {
    FAIL_IF_ASKED(cuMemsetD8Async);
    return Gpu::get().submit(stream, [=] {
        std::byte* const target = Gpu::get().reach(to, length);
        if (target != nullptr)
            std::memset(target, value, length);
        return target != nullptr;
    });
}

FAKE_CALL(cuStreamCreate, Stream* stream, unsigned) {
    FAIL_IF_ASKED(cuStreamCreate);
    Gpu::get().own(1);
    *stream = reinterpret_cast<Stream>(new FakeStream);
    return kSuccess;
}

FAKE_CALL(cuStreamDestroy_v2, Stream stream) {
    Gpu::get().own(-1);
    // Freed when its work is done.
    auto* const gone = reinterpret_cast<FakeStream*>(stream);
    static FakeStream keeper;
    const Result result = Gpu::get().submit(reinterpret_cast<Stream>(&keeper), [gone] {
        delete gone;
        return true;
    });
    FAIL_IF_ASKED(cuStreamDestroy_v2);
    return result;
}

FAKE_CALL(cuStreamQuery, Stream stream) {
    FAIL_IF_ASKED(cuStreamQuery);
    return Gpu::get().query(stream);
}

FAKE_CALL(cuStreamWaitEvent, Stream stream, Event, unsigned) {
    FAIL_IF_ASKED(cuStreamWaitEvent);
    // There is one queue: what was recorded before is done before.
    return Gpu::get().submit(stream, [] { return true; });
}

FAKE_CALL(cuStreamWriteValue32_v2, Stream stream, DevicePointer word, std::uint32_t value, unsigned) {
    FAIL_IF_ASKED(cuStreamWriteValue32_v2);
    return Gpu::get().submit(stream, [=] {
        std::byte* const target = Gpu::get().reach(word, sizeof value);
        if (target != nullptr)
            __atomic_store_n(reinterpret_cast<std::uint32_t*>(target), value, __ATOMIC_RELEASE);
        return target != nullptr;
    });
}

FAKE_CALL(cuEventCreate, Event* event, unsigned) {
    FAIL_IF_ASKED(cuEventCreate);
    Gpu::get().own(1);
    *event = reinterpret_cast<Event>(new FakeEvent);
    return kSuccess;
}

FAKE_CALL(cuEventRecord, Event event, Stream stream) {
    FAIL_IF_ASKED(cuEventRecord);
    auto* const s = reinterpret_cast<FakeStream*>(stream);
    const Result result = Gpu::get().submit(stream, [] { return true; });
    *reinterpret_cast<FakeEvent*>(event) = {s, s->submitted};
    return result;
}

FAKE_CALL(cuEventQuery, Event event) {
    FAIL_IF_ASKED(cuEventQuery);
    return Gpu::get().query(*reinterpret_cast<FakeEvent*>(event));
}

FAKE_CALL(cuEventDestroy_v2, Event event) {
    Gpu::get().own(-1);
    delete reinterpret_cast<FakeEvent*>(event);
    FAIL_IF_ASKED(cuEventDestroy_v2);
    return kSuccess;
}

FAKE_CALL(cuModuleLoadData, Module* module, const void* image) {
    FAIL_IF_ASKED(cuModuleLoadData);
    const std::string ptx(static_cast<const char*>(image));
    if (ptx.find(".version") == ptx.npos)
        return kInvalidPtx;
    Gpu::get().own(1);
    *module = reinterpret_cast<Module>(new FakeModule{ptx});
    return kSuccess;
}

FAKE_CALL(cuModuleUnload, Module module) {
    Gpu::get().own(-1);
    delete reinterpret_cast<FakeModule*>(module);
    FAIL_IF_ASKED(cuModuleUnload);
    return kSuccess;
}

FAKE_CALL(cuModuleGetFunction, Function* function, Module module, const char* name) {
    FAIL_IF_ASKED(cuModuleGetFunction);
    const std::string_view wanted(name);
    const Kernel kernel = wanted == "spead_gather" ? Kernel::gather
                          : wanted == "spead_read" ? Kernel::read
                                                   : Kernel::none;
    const std::string& ptx = reinterpret_cast<FakeModule*>(module)->ptx;
    if (kernel == Kernel::none || ptx.find(".entry " + std::string(wanted) + "(") == ptx.npos)
        return kNotFound;
    *function = reinterpret_cast<Function>(static_cast<std::uintptr_t>(kernel));
    return kSuccess;
}

FAKE_CALL(cuLaunchKernel, Function function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
          unsigned, unsigned, Stream stream, void** parameters, void**) {
    FAIL_IF_ASKED(cuLaunchKernel);
    DevicePointer first = 0;
    std::memcpy(&first, parameters[0], sizeof first);
    if (static_cast<Kernel>(reinterpret_cast<std::uintptr_t>(function)) == Kernel::gather) {
        unsigned count = 0;
        std::memcpy(&count, parameters[1], sizeof count);
        // The threads that were asked for have to suffice.
        if (std::uint64_t{blocks} * threads / spead::gpu::kernels::kLanes < count)
            return kInvalidValue;
        return Gpu::get().submit(stream, [=] { return gather(first, count); });
    }
    std::uint64_t words = 0;
    std::memcpy(&words, parameters[1], sizeof words);
    return Gpu::get().submit(stream, [=] { return Gpu::get().reach(first, words * 16) != nullptr; });
}
