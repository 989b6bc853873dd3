// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/driver.hpp"

#include <bit>
#include <gmock/gmock.h>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "gpu/gatherer.hpp"
#include "gpu/objects.hpp"
#include "gpu/peer_memory.hpp"
#include "gpu/registered.hpp"
#include "gpu/uploader.hpp"
#include "memory/mapping.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::gpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Driver, SaysWhatIsMissingWithoutTheLibrary) {
    const std::string said = test::refusal([] { Driver::load("libno-such-cuda.so.1"); });
    EXPECT_THAT(said, AllOf(HasSubstr("libno-such-cuda.so.1"), HasSubstr("install NVIDIA's driver")));
}

TEST(Driver, NamesTheFunctionThatALibraryDoesNotHave) {
    EXPECT_THAT(test::refusal([] { Driver::load("libm.so.6"); }),
                AllOf(HasSubstr("libm.so.6 has no function cuInit"), HasSubstr("525")));
}

TEST(Driver, SaysThatThereIsNoGpu) {
    const FakeWish none("FAKE_CUDA_DEVICES", "0");
    // Another path to the same file is loaded anew.
    std::string path = fake_library();
    path.insert(path.rfind('/'), "/.");
    EXPECT_THAT(test::refusal([&] { Driver::load(path); }),
                AllOf(HasSubstr("CUDA_ERROR_NO_DEVICE"), HasSubstr("nvidia-smi")));
}

TEST(Driver, TellsTheGpu) {
    const ContextPointer context = fake_context();
    EXPECT_EQ(context->facts().name, "Fake GPU");
    EXPECT_EQ(context->facts().address, "0000:fa:ce.0");
    EXPECT_EQ(context->facts().capability, 90);
    EXPECT_EQ(context->driver().version(), 12000);
    EXPECT_THAT(test::refusal([&] { Context::open(Driver::load(fake_library()), 7); }),
                AllOf(HasSubstr("cuDeviceGet("), HasSubstr(", 7)"), HasSubstr("CUDA_ERROR_INVALID_DEVICE")));
}

TEST(Driver, NamesResultsThatItDoesNotKnow) {
    const ContextPointer context = fake_context();
    const FakeWish unnamed("FAKE_CUDA_FAIL", "cuGetErrorName");
    EXPECT_THAT(test::refusal([&] { context->driver().call(&cuda::Api::free, cuda::DevicePointer{16}); }),
                AllOf(HasSubstr("cuMemFree_v2(0x10)"), HasSubstr("an unknown error (1: as the fake driver")));
}

/// Uses every function that can fail. Objects go in the order of real use.
void use_everything(const std::string& library) {
    const ContextPointer context = Context::open(Driver::load(library));
    (void)context->driver().version();
    memory::Mapping host(4096);
    const Registered registered(context, host.base(), host.length());
    DeviceMemory device(context, 65536);
    const Stream stream(context);
    const Stream other(context);
    const Event event(context);
    stream.fill(device.address(), std::byte{1}, 4096);
    event.record(stream);
    other.wait(event.handle());
    other.copy(device.address() + 4096, device.address(), 4096);
    other.download(host.base(), device.address() + 4096, 4096);
    other.finish();
    (void)event.reached();
    if (kernels_ptx() != nullptr) {
        const Gatherer gatherer(context, Gatherer::Way::kernel);
        auto* const piece =
            new (host.base()) gather::Piece{std::bit_cast<const std::byte*>(device.address()),
                                            std::bit_cast<std::byte*>(device.address() + 8192), 100, 0};
        gatherer.gather(stream, {piece, 1}, registered.address_of(piece));
        stream.finish();
    }
    const PeerMemory own = PeerMemory::allocate(Driver::load(library), 4096);
    const PeerMemory users = PeerMemory::of(Driver::load(library), device.address(), 4096);
    Uploader uploader(context, 2);
    const Uploader::Ticket ticket = uploader.submit({host.base(), device.address(), 4096});
    if (ticket == 0 || !uploader.wait(ticket, std::chrono::seconds(10)))
        throw Error(uploader.error().value_or("not uploaded"));
}

TEST(Driver, EveryCallThatFailsIsNamedAndNothingStaysBehind) {
    const int before = fake_objects();
    std::string path = fake_library();
    ASSERT_EQ(test::refusal([&] { use_everything(path); }), "");
    ASSERT_EQ(fake_objects(), before);
    std::set<std::string> unnamed;
    const auto fail = [&](const std::string& symbol) {
        const FakeWish wish("FAKE_CUDA_FAIL", symbol);
        path.insert(path.rfind('/'), "/.");
        const std::string said = test::refusal([&] { use_everything(path); });
        EXPECT_EQ(fake_objects(), before) << symbol;
        if (said.empty())
            unnamed.insert(symbol);
        else
            EXPECT_THAT(said, AllOf(HasSubstr("GPU: " + symbol + "("), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")))
                << symbol;
    };
#define SPEAD_FAIL_ONCE(member, symbol, ...) fail(#symbol);
    SPEAD_CUDA_FUNCTIONS(SPEAD_FAIL_ONCE)
#undef SPEAD_FAIL_ONCE
    // Objects that are given back log it, and errors are told by these two.
    std::set<std::string> expected{"cuDevicePrimaryCtxRelease_v2",
                                   "cuCtxPopCurrent_v2",
                                   "cuMemFree_v2",
                                   "cuMemHostUnregister",
                                   "cuStreamDestroy_v2",
                                   "cuEventDestroy_v2",
                                   "cuModuleUnload",
                                   "cuGetErrorName",
                                   "cuGetErrorString"};
    if (kernels_ptx() == nullptr)
        expected.insert({"cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel"});
    EXPECT_EQ(unnamed, expected);
}

TEST(FakeDriver, LooksAtNoEnvironmentThatAnotherThreadChanges) {
    const ContextPointer context = fake_context();
    const DeviceMemory device(context, 4096);
    const Stream stream(context);
    setenv("FAKE_CUDA_STALL", "1", 1);
    setenv("FAKE_CUDA_FAIL", "cuMemsetD8Async", 1);
    stream.fill(device.address(), std::byte{1}, 4096);
    EXPECT_NO_THROW(stream.finish());
    unsetenv("FAKE_CUDA_STALL");
    unsetenv("FAKE_CUDA_FAIL");
}

TEST(DeviceMemory, KillsACpuThatReadsIt) {
    const ContextPointer context = fake_context();
    const DeviceMemory device(context, 4096);
    EXPECT_FALSE(device.region().cpu_accessible());
    EXPECT_DEATH((void)*static_cast<volatile std::byte*>(device.region().base), "");
}

}  // namespace
}  // namespace spead::gpu
