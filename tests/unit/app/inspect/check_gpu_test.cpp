// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/check_gpu.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

/// Returns a plan of a stream whose heaps a GPU gathers.
runtime::Plan gathering() {
    runtime::Plan plan;
    runtime::ReceivePlan& r = plan.receives.emplace_back();
    r.name = "s0";
    r.port = "p0";
    r.engine = runtime::HeapEngine::cuda;
    r.engine_memory = kGiB;
    return plan;
}

runtime::Layout on_lcores(std::vector<unsigned> cpus) {
    runtime::Layout layout;
    layout.stream_cpus = {std::move(cpus)};
    return layout;
}

/// Returns a GPU that can do everything.
GpuFacts able() {
    GpuFacts f;
    f.device = {"H200", "0000:01:00.0", 4 * kGiB, 90, 132, 3, true, true, true, true, 100};
    f.cuda = 12040;
    return f;
}

GpuNeeds everything() {
    return {true, true, true, kGiB, "`gather = \"cuda\"` of s0"};
}

TEST(CheckGpu, LooksForNoneWhereNoneIsNeeded) {
    EXPECT_THAT(check_gpu({}, {}, "libno-such-cuda.so.1"), IsEmpty());
    runtime::Plan plan = gathering();
    plan.receives[0].enabled = false;
    EXPECT_THAT(check_gpu({}, plan, "libno-such-cuda.so.1"), IsEmpty());
}

TEST(CheckGpu, KnowsWhatThePlanNeeds) {
    runtime::Plan plan = gathering();
    const GpuNeeds heaps = gpu_needs(on_lcores({1, 2}), plan);
    EXPECT_TRUE(heaps.gathers && !heaps.splits && !heaps.registers);
    EXPECT_EQ(heaps.bytes, 2 * kGiB) << "for each lcore";
    EXPECT_EQ(heaps.by, "`gather = \"cuda\"` of s0");
    runtime::Layout layout = on_lcores({1});
    layout.ports.emplace_back().request.name = "p0";
    layout.ports[0].device.split.emplace();
    EXPECT_TRUE(gpu_needs(layout, plan).splits);
    plan.receives[0].engine = runtime::HeapEngine::none;
    plan.receives[0].chunk.emplace().memory = runtime::ChunkMemory::cuda_pinned;
    const GpuNeeds chunks = gpu_needs(layout, plan);
    EXPECT_TRUE(chunks.registers && !chunks.gathers && !chunks.splits);
    EXPECT_EQ(chunks.by, "`memory = \"cuda_pinned\"` of s0");
}

TEST(CheckGpu, NamesEachThingThatAGpuLacks) {
    ASSERT_THAT(judge_gpu(able(), 1, everything()), SizeIs(1));
    EXPECT_EQ(judge_gpu(able(), 1, everything())[0].verdict, Verdict::ok);
    EXPECT_THAT(judge_gpu(able(), 3, everything())[0].text,
                HasSubstr("the first of 3: H200 at 0000:01:00.0"));
    const std::pair<void (*)(GpuFacts&), const char*> kLacks[] = {
        {[](GpuFacts& f) { f.cuda = 11080; }, "CUDA 11.8"},
        {[](GpuFacts& f) { f.device.capability = 61; }, "compute capability 6.1"},
        {[](GpuFacts& f) { f.device.registers_host = false; }, "does not reach memory of the host"},
        {[](GpuFacts& f) { f.device.same_host_pointer = false; }, "addresses of its own"},
        {[](GpuFacts& f) { f.device.rdma = false; }, "GPUDirect RDMA"},
        {[](GpuFacts& f) { f.device.writes_ordering = 0; }, "later than the card tells"},
        {[](GpuFacts& f) { f.device.memory = kGiB / 2; }, "512 MiB of memory"},
    };
    for (const auto& [change, words] : kLacks) {
        GpuFacts facts = able();
        change(facts);
        const Findings found = judge_gpu(facts, 1, everything());
        ASSERT_THAT(found, SizeIs(1)) << words;
        EXPECT_EQ(found[0].verdict, Verdict::fail) << words;
        EXPECT_THAT(found[0].text, HasSubstr(words));
    }
}

TEST(CheckGpu, NamesTheCallOfTheDriverThatFails) {
    const Findings well = check_gpu(on_lcores({1}), gathering(), gpu::fake_library());
    ASSERT_THAT(well, SizeIs(1));
    EXPECT_EQ(well[0].verdict, Verdict::ok) << well[0].text;
    EXPECT_THAT(well[0].text, HasSubstr("Fake GPU at 0000:fa:ce.0"));
    for (const char* const call :
         {"cuDeviceGet", "cuDeviceGetName", "cuDeviceGetPCIBusId", "cuDeviceTotalMem_v2",
          "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuDriverGetVersion"}) {
        const gpu::FakeWish wish("FAKE_CUDA_FAIL", call);
        const Findings found = check_gpu(on_lcores({1}), gathering(), gpu::fake_library());
        ASSERT_THAT(found, SizeIs(1)) << call;
        EXPECT_EQ(found[0].verdict, Verdict::fail) << call;
        EXPECT_THAT(found[0].text, AllOf(HasSubstr("of s0 cannot be: "), HasSubstr(std::string(call) + "(")));
    }
    EXPECT_EQ(gpu::fake_objects(), 0) << "nothing is left behind";
}

TEST(CheckGpu, SaysWhatIsMissingWithoutADriver) {
    const Findings found = check_gpu(on_lcores({1}), gathering(), "libno-such-cuda.so.1");
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].verdict, Verdict::fail);
    EXPECT_THAT(found[0].text, AllOf(HasSubstr("of s0 cannot be: "), HasSubstr("install NVIDIA's driver")));
}

}  // namespace
}  // namespace spead::app
