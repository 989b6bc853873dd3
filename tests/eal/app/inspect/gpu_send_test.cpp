// SPDX-License-Identifier: BSD-3-Clause
#include "app/inspect/gpu_send.hpp"

#include <gmock/gmock.h>
#include <string>

#include <gtest/gtest.h>

#include "drivers/table.hpp"
#include "tests/unit/gpu/fake_driver.hpp"

namespace spead::app {
namespace {

using testing::HasSubstr;

Finding tried(const std::string& device) {
    port::PortRequest request;
    request.name = "p0";
    request.device = device;
    request.max_rx_packet = request.max_tx_packet = 1000;
    request.tx_queues = 1;
    const auto port = port::Port::open(request, drivers::table());
    port->start();
    const Findings found =
        try_gpu_send(*port, parse_endpoints("239.255.77.77:9").front(), gpu::fake_library());
    EXPECT_EQ(found.size(), 1U);
    return found.front();
}

TEST(GpuSend, PacketsOfARingAreFetchedAndCompared) {
    const int before = gpu::fake_objects();
    const Finding found = tried("net_ring0");
    EXPECT_EQ(found.verdict, Verdict::ok) << found.text;
    EXPECT_THAT(found.text, HasSubstr("came back, no byte wrong"));
    EXPECT_EQ(gpu::fake_objects(), before);
}

TEST(GpuSend, PacketsThatDoNotComeBackAreCounted) {
    const Finding found = tried("net_null0,no-rx=1");
    EXPECT_EQ(found.verdict, Verdict::ok) << found.text;
    EXPECT_THAT(found.text, HasSubstr("packets taken"));
}

TEST(GpuSend, ADriverThatReadsPacketsIsNotTried) {
    EXPECT_THAT(tried("net_null0,copy=1").text, HasSubstr("not tried"));
}

TEST(GpuSend, ACallThatFailsIsNamed) {
    for (const char* const call : {"cuMemAlloc_v2", "cuPointerSetAttribute", "cuMemHostRegister_v2",
                                   "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuStreamCreate"}) {
        const int before = gpu::fake_objects();
        const gpu::FakeWish wish("FAKE_CUDA_FAIL", call);
        const Finding found = tried("net_ring0");
        EXPECT_EQ(found.verdict, Verdict::fail) << call;
        EXPECT_THAT(found.text, HasSubstr(std::string(call) + "(")) << call;
        EXPECT_EQ(gpu::fake_objects(), before) << call;
    }
}

}  // namespace
}  // namespace spead::app
