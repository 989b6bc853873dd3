// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/gpu_steps.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::app {
namespace {

using testing::HasSubstr;

TEST(GpuSteps, TryTheDriverItsMemoryAndTheGather) {
    const Findings found = try_gpu(gpu::fake_library());
    ASSERT_EQ(found.size(), 3U) << describe(found);
    EXPECT_FALSE(any_failed(found)) << describe(found);
    EXPECT_THAT(found[0].text, HasSubstr("Fake GPU at 0000:fa:ce.0"));
    EXPECT_THAT(found[1].text, HasSubstr("4 MiB registered"));
    EXPECT_THAT(found[2].text, HasSubstr("256 pieces by "));
}

TEST(GpuSteps, NameTheStepAndTheCallThatFail) {
    for (const auto& [call, subject] : {std::pair{"cuDevicePrimaryCtxRetain", "GPU driver"},
                                        {"cuMemHostRegister_v2", "GPU memory"},
                                        {"cuMemcpyHtoDAsync_v2", "GPU memory"},
                                        {"cuMemHostRegister_v2:2", "GPU gather"}}) {
        const gpu::FakeWish wish("FAKE_CUDA_FAIL", call);
        const Findings found = try_gpu(gpu::fake_library());
        ASSERT_FALSE(found.empty());
        EXPECT_EQ(found.back().verdict, Verdict::fail);
        EXPECT_EQ(found.back().subject, subject) << call;
        const std::string symbol = std::string(call).substr(0, std::string(call).find(':'));
        EXPECT_THAT(found.back().text, HasSubstr(symbol + "("));
    }
    EXPECT_EQ(gpu::fake_objects(), 0) << "nothing is left behind";
}

TEST(GpuSteps, SayWhyThereIsNoGpu) {
    const Findings found = try_gpu("libno-such-cuda.so.1");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].verdict, Verdict::fail);
    EXPECT_THAT(found[0].text, HasSubstr("install NVIDIA's driver"));
    EXPECT_THAT(gpu_text("libno-such-cuda.so.1"), HasSubstr("none is used: "));
    EXPECT_TRUE(gpu_document("libno-such-cuda.so.1").contains("error"));
    EXPECT_EQ(gpu_document(gpu::fake_library())["name"], "Fake GPU");
}

}  // namespace
}  // namespace spead::app
