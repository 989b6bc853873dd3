// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

/// Declares the part of NVIDIA's driver interface that this library calls, so that neither building nor
/// linking needs anything of NVIDIA's. Names and values are those of the interface: libcuda.so.1 of driver
/// 525 (CUDA 12.0) and newer. `gpu::Driver` finds the functions when the program runs.
namespace spead::gpu::cuda {

using Result = int;                   ///< CUresult
using Device = int;                   ///< CUdevice
using DevicePointer = std::uint64_t;  ///< CUdeviceptr

using Context = struct ContextTag*;    ///< CUcontext
using Stream = struct StreamTag*;      ///< CUstream
using Event = struct EventTag*;        ///< CUevent
using Module = struct ModuleTag*;      ///< CUmodule
using Function = struct FunctionTag*;  ///< CUfunction

/// Lists the results (CUDA_ERROR_*) that this library tells apart.
enum : Result {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidPtx = 218,
    kUnsupportedPtxVersion = 222,
    kNotFound = 500,
    kNotReady = 600,
    kIllegalAddress = 700,
    kHostMemoryAlreadyRegistered = 712,
    kHostMemoryNotRegistered = 713,
    kLaunchFailed = 719,
    kNotSupported = 801,
    kSystemDriverMismatch = 803,
};

/// Lists the attributes of devices (CU_DEVICE_ATTRIBUTE_*) that this library reads.
enum Attribute : int {
    kMultiprocessors = 16,
    kCopyEngines = 40,
    kComputeCapabilityMajor = 75,
    kComputeCapabilityMinor = 76,
    kHostPointerForRegisteredMemory = 91,
    kHostRegisterSupported = 99,
    kRdmaSupported = 116,       ///< of GPUDirect RDMA
    kRdmaWritesOrdering = 118,  ///< 0: none; 100: for the owner; 200: for all devices
    kDmaBufSupported = 124,
};

/// Lists the attributes of pointers (CU_POINTER_ATTRIBUTE_*) that this library uses.
enum PointerAttribute : int {
    kPointerMemoryType = 2,  ///< 1: of the host; 2: of a device
    kPointerSyncMemops = 6,  ///< the driver's copies are over when their calls return
    kPointerIsManaged = 8,   ///< it moves between host and device
    kPointerDevice = 9,      ///< the number of its GPU
};

inline constexpr unsigned kDeviceMemory = 2;  ///< CU_MEMORYTYPE_DEVICE

inline constexpr unsigned kRegisterPortable = 1;    ///< CU_MEMHOSTREGISTER_PORTABLE: for every context
inline constexpr unsigned kRegisterDeviceMap = 2;   ///< CU_MEMHOSTREGISTER_DEVICEMAP: kernels may reach it
inline constexpr unsigned kStreamNonBlocking = 1;   ///< CU_STREAM_NON_BLOCKING
inline constexpr unsigned kEventDisableTiming = 2;  ///< CU_EVENT_DISABLE_TIMING

/// Applies X(member, symbol, parameters) to each function. Symbols end in _v2 where the interface has a
/// second version.
#define SPEAD_CUDA_FUNCTIONS(X)                                                                     \
    X(init, cuInit, unsigned)                                                                       \
    X(driver_version, cuDriverGetVersion, int*)                                                     \
    X(error_name, cuGetErrorName, Result, const char**)                                             \
    X(error_string, cuGetErrorString, Result, const char**)                                         \
    X(device_count, cuDeviceGetCount, int*)                                                         \
    X(device, cuDeviceGet, Device*, int)                                                            \
    X(device_name, cuDeviceGetName, char*, int, Device)                                             \
    X(device_address, cuDeviceGetPCIBusId, char*, int, Device)                                      \
    X(device_attribute, cuDeviceGetAttribute, int*, Attribute, Device)                              \
    X(device_memory, cuDeviceTotalMem_v2, std::size_t*, Device)                                     \
    X(retain_context, cuDevicePrimaryCtxRetain, Context*, Device)                                   \
    X(release_context, cuDevicePrimaryCtxRelease_v2, Device)                                        \
    X(use_context, cuCtxSetCurrent, Context)                                                        \
    X(push_context, cuCtxPushCurrent_v2, Context)                                                   \
    X(pop_context, cuCtxPopCurrent_v2, Context*)                                                    \
    X(allocate, cuMemAlloc_v2, DevicePointer*, std::size_t)                                         \
    X(free, cuMemFree_v2, DevicePointer)                                                            \
    X(address_range, cuMemGetAddressRange_v2, DevicePointer*, std::size_t*, DevicePointer)          \
    X(pointer_attribute, cuPointerGetAttribute, void*, PointerAttribute, DevicePointer)             \
    X(set_pointer_attribute, cuPointerSetAttribute, const void*, PointerAttribute, DevicePointer)   \
    X(register_host, cuMemHostRegister_v2, void*, std::size_t, unsigned)                            \
    X(unregister_host, cuMemHostUnregister, void*)                                                  \
    X(device_pointer, cuMemHostGetDevicePointer_v2, DevicePointer*, void*, unsigned)                \
    X(copy_to_device, cuMemcpyHtoDAsync_v2, DevicePointer, const void*, std::size_t, Stream)        \
    X(copy_to_host, cuMemcpyDtoHAsync_v2, void*, DevicePointer, std::size_t, Stream)                \
    X(copy, cuMemcpyAsync, DevicePointer, DevicePointer, std::size_t, Stream)                       \
    X(fill, cuMemsetD8Async, DevicePointer, unsigned char, std::size_t, Stream)                     \
    X(create_stream, cuStreamCreate, Stream*, unsigned)                                             \
    X(destroy_stream, cuStreamDestroy_v2, Stream)                                                   \
    X(query_stream, cuStreamQuery, Stream)                                                          \
    X(wait_event, cuStreamWaitEvent, Stream, Event, unsigned)                                       \
    X(write_value, cuStreamWriteValue32_v2, Stream, DevicePointer, std::uint32_t, unsigned)         \
    X(create_event, cuEventCreate, Event*, unsigned)                                                \
    X(record_event, cuEventRecord, Event, Stream)                                                   \
    X(query_event, cuEventQuery, Event)                                                             \
    X(destroy_event, cuEventDestroy_v2, Event)                                                      \
    X(load_module, cuModuleLoadData, Module*, const void*)                                          \
    X(unload_module, cuModuleUnload, Module)                                                        \
    X(module_function, cuModuleGetFunction, Function*, Module, const char*)                         \
    X(launch, cuLaunchKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
      unsigned, Stream, void**, void**)

/// Holds a function of the driver, with its name for errors.
template <typename... P>
struct Entry {
    const char* name = nullptr;
    Result (*function)(P...) = nullptr;
};

/// Holds every function.
struct Api {
#define SPEAD_CUDA_MEMBER(member, symbol, ...) Entry<__VA_ARGS__> member{#symbol, nullptr};
    SPEAD_CUDA_FUNCTIONS(SPEAD_CUDA_MEMBER)
#undef SPEAD_CUDA_MEMBER
};

}  // namespace spead::gpu::cuda
