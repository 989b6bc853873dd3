// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/xdp_program.hpp"

#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include "base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/drivers/xdp_lab.hpp"

namespace spead::drivers::test {

namespace {

std::string claim_refusal(const std::string& netdev) {
    return spead::test::refusal([&] { const XdpClaim claim(netdev); });
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class XdpProgram : public testing::Test {
  protected:
    void SetUp() override {
        if (const auto reason = enter_lab(); !reason.empty()) {
            GTEST_SKIP() << reason;
        }
    }
};

TEST_F(XdpProgram, ACleanInterfaceHasNone) {
    EXPECT_FALSE(attached_program("dut"));
    EXPECT_FALSE(attached_program("nothing"));
}

TEST_F(XdpProgram, OursIsKnownByItsName) {
    const LoadedSteer steer;
    ASSERT_TRUE(steer.attach("dut"));
    const auto attached = attached_program("dut");
    ASSERT_TRUE(attached);
    EXPECT_TRUE(attached->ours);
    EXPECT_EQ(attached->name, STEER_PROGRAM);
    EXPECT_FALSE(attached_program("peer"));
}

TEST_F(XdpProgram, AClaimOffersTheProgramAsAFile) {
    const XdpClaim claim("dut");
    struct stat status {};
    ASSERT_EQ(::stat(claim.program_path().c_str(), &status), 0);
    EXPECT_EQ(static_cast<std::size_t>(status.st_size), steer_object().size());
    bpf_object* object = bpf_object__open_file(claim.program_path().c_str(), nullptr);
    ASSERT_NE(object, nullptr);
    EXPECT_EQ(bpf_object__load(object), 0);
    bpf_object__close(object);
}

TEST_F(XdpProgram, AnInterfaceIsClaimedOnceAtATime) {
    auto claim = std::make_unique<XdpClaim>("dut");
    EXPECT_NE(claim_refusal("dut").find("another port or process"), std::string::npos);
    EXPECT_EQ(claim_refusal("peer"), "");
    claim.reset();
    EXPECT_EQ(claim_refusal("dut"), "");
}

TEST_F(XdpProgram, AClaimEndsWithItsProcess) {
    const pid_t child = ::fork();
    if (child == 0) {
        const XdpClaim claim("dut");
        ::_exit(0);  // runs no destructor
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    EXPECT_EQ(claim_refusal("dut"), "");
}

TEST_F(XdpProgram, WhatACrashLeftIsTakenAway) {
    {
        const LoadedSteer steer;
        ASSERT_TRUE(steer.attach("dut"));
    }
    ASSERT_TRUE(attached_program("dut"));
    const XdpClaim claim("dut");
    EXPECT_FALSE(attached_program("dut"));
}

TEST_F(XdpProgram, SomebodyElsesIsLeftAloneAndNamed) {
    ASSERT_TRUE(attach_elses("dut"));
    const auto id = attached_program("dut")->id;
    const std::string text = claim_refusal("dut");
    EXPECT_NE(text.find("\"elses\" (id " + std::to_string(id) + ")"), std::string::npos) << text;
    EXPECT_NE(text.find("ip link set dev dut xdp off"), std::string::npos) << text;
    EXPECT_EQ(attached_program("dut")->id, id);
    EXPECT_THROW(check_no_foreign_program("dut", "port p0"), Error);
    EXPECT_NO_THROW(check_no_foreign_program("peer", "port p0"));
}

TEST_F(XdpProgram, WhatThePmdLeavesOpenIsClosedAndItsProgramTakenAway) {
    const auto before = open_descriptors();
    {
        XdpClaim claim("dut");
        // As the PMD does: loaded, attached, and never closed.
        static bpf_object* object = nullptr;
        object = bpf_object__open_file(claim.program_path().c_str(), nullptr);
        ASSERT_EQ(bpf_object__load(object), 0);
        const int program = bpf_program__fd(bpf_object__find_program_by_name(object, STEER_PROGRAM));
        ASSERT_EQ(bpf_xdp_attach(static_cast<int>(::if_nametoindex("dut")), program, 0, nullptr), 0);
        claim.remember();
        claim.release();
        EXPECT_FALSE(attached_program("dut"));
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(XdpProgram, AProgramThatCameMeanwhileIsNotTakenAway) {
    XdpClaim claim("dut");
    claim.remember();
    ASSERT_TRUE(attach_elses("dut"));
    claim.release();
    EXPECT_TRUE(attached_program("dut"));
}

/// Tests an interface whose program is replaced. The PMD removes any program from the interface.
TEST_F(XdpProgram, AProgramThatWasPutOverOursIsThereAgainAfterwards) {
    const auto before = open_descriptors();
    {
        XdpClaim claim("dut");
        const int interface = static_cast<int>(::if_nametoindex("dut"));
        // As the PMD does: loaded, attached, and never closed.
        bpf_object* object = bpf_object__open_file(claim.program_path().c_str(), nullptr);
        ASSERT_EQ(bpf_object__load(object), 0);
        const int program = bpf_program__fd(bpf_object__find_program_by_name(object, STEER_PROGRAM));
        ASSERT_EQ(bpf_xdp_attach(interface, program, 0, nullptr), 0);
        claim.loaded();
        ASSERT_TRUE(attach_elses("dut"));
        const auto elses = attached_program("dut")->id;
        claim.remember();
        ASSERT_EQ(bpf_xdp_detach(interface, 0, nullptr), 0);
        claim.release();
        ASSERT_TRUE(attached_program("dut"));
        EXPECT_EQ(attached_program("dut")->id, elses);
    }
    EXPECT_EQ(open_descriptors(), before) << "of our program too";
}

TEST_F(XdpProgram, WhatIsThereInsteadIsTold) {
    const LoadedSteer steer;
    ASSERT_TRUE(steer.attach("dut"));
    const auto id = attached_program("dut")->id;
    EXPECT_EQ(instead_of_program("dut", id), "");
    ASSERT_TRUE(attach_elses("dut"));
    const auto elses = attached_program("dut")->id;
    EXPECT_EQ(instead_of_program("dut", id), fmt::format("the XDP program \"elses\" (id {})", elses));
    ASSERT_EQ(bpf_xdp_detach(static_cast<int>(::if_nametoindex("dut")), 0, nullptr), 0);
    EXPECT_EQ(instead_of_program("dut", id), "no XDP program");
    EXPECT_EQ(instead_of_program("nothing", id), "") << "that is another matter";
}

TEST_F(XdpProgram, MapsAreFoundByName) {
    const LoadedSteer steer;
    ASSERT_TRUE(steer.attach("dut"));
    const int map = open_map("dut", STEER_ENDPOINTS);
    EXPECT_GE(map, 0);
    ::close(map);
    EXPECT_THROW(open_map("dut", "nothing"), Error);
    EXPECT_THROW(open_map("peer", STEER_ENDPOINTS), Error);
}

}  // namespace

}  // namespace spead::drivers::test
