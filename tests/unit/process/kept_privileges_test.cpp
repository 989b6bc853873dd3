// SPDX-License-Identifier: BSD-3-Clause
#include "process/kept_privileges.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "drivers/table.hpp"

namespace spead::process {
namespace {

namespace fs = std::filesystem;

port::PlannedPort with(Privileges kept) {
    port::PlannedPort p;
    p.device.kept = kept;
    return p;
}

TEST(PrivilegesAfterStart, AreThoseOfAllPorts) {
    const std::vector<port::PlannedPort> ports{with({}), with({CAP_NET_RAW}),
                                               with({CAP_NET_RAW, CAP_IPC_LOCK})};
    EXPECT_EQ(privileges_after_start(ports, {}), (Privileges{CAP_NET_RAW, CAP_IPC_LOCK}));
    EXPECT_TRUE(privileges_after_start({}, {}).empty());
}

TEST(PrivilegesAfterStart, ALowUnicastPortIsBoundAnew) {
    runtime::Plan plan;
    plan.receives.emplace_back().endpoints = parse_endpoints("239.1.2.3:80");
    plan.receives.back().endpoints.push_back(parse_endpoints("10.0.0.5:1024").front());
    EXPECT_TRUE(privileges_after_start({}, plan).empty());
    plan.receives.back().endpoints.push_back(parse_endpoints("10.0.0.5:1023").front());
    EXPECT_EQ(privileges_after_start({}, plan), Privileges{CAP_NET_BIND_SERVICE});
}

TEST(PrivilegesAfterStart, AGroupOfALowPortIsBoundAnewByKernelSockets) {
    runtime::Plan plan;
    plan.receives.emplace_back().endpoints = parse_endpoints("239.1.2.3:80");
    std::vector<port::PlannedPort> ports(1);
    ports[0].request.name = plan.receives[0].port = "p0";
    for (const port::Driver* driver : drivers::table()) {
        ports[0].driver = driver;
        EXPECT_EQ(privileges_after_start(ports, plan).empty(), driver->name() != "net_kernel")
            << driver->name();
    }
    ports[0].request.name = "p1";
    EXPECT_TRUE(privileges_after_start(ports, plan).empty()) << "another port";
}

TEST(PrivilegesAfterStart, PinnedChunksAreLockedAnew) {
    runtime::Plan plan;
    runtime::ChunkPlan& chunk = plan.receives.emplace_back().chunk.emplace();
    EXPECT_TRUE(privileges_after_start({}, plan).empty());
    for (const auto memory : {runtime::ChunkMemory::pinned, runtime::ChunkMemory::cuda_pinned}) {
        chunk.memory = memory;
        EXPECT_EQ(privileges_after_start({}, plan), Privileges{CAP_IPC_LOCK});
    }
}

TEST(PathsInUse, AreThoseThatAreWrittenOrReadLater) {
    runtime::Plan plan;
    runtime::ReceivePlan& r = plan.receives.emplace_back();
    r.sink.kind = runtime::SinkKind::file;
    r.sink.directory = "/data/heaps";
    r.capture.emplace().files = {"/data/a.pcap", "/more/b.pcap"};
    plan.receives.emplace_back().sink.directory = "/not/a/file/sink";
    std::vector<port::PlannedPort> ports(1);
    ports[0].device.outputs = {"/out/tx.pcap"};
    ports[0].device.sources = {port::SourceFile{"/in/rx.pcap"}};
    std::vector<PathInUse> paths = paths_in_use(ports, plan);
    add_written(paths, "");
    add_written(paths, "-");
    add_written(paths, "relative.json");
    add_read(paths, "/etc/plan.toml");
    add_read(paths, "/etc/plan.toml");
    EXPECT_THAT(
        paths, testing::UnorderedElementsAre(
                   PathInUse{"/data/heaps", W_OK}, PathInUse{"/data/a.pcap", W_OK}, PathInUse{"/data", W_OK},
                   PathInUse{"/more/b.pcap", W_OK}, PathInUse{"/more", W_OK}, PathInUse{"/out/tx.pcap", W_OK},
                   PathInUse{"/out", W_OK}, PathInUse{"/in/rx.pcap", R_OK},
                   PathInUse{(fs::current_path() / "relative.json").string(), W_OK},
                   PathInUse{fs::current_path().string(), W_OK}, PathInUse{"/etc/plan.toml", R_OK}));
}

TEST(NeedsOverride, NamesWhatIsAnotherUsers) {
    std::string pattern = testing::TempDir() + "/override-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    const fs::path directory(pattern);
    fs::create_directory(directory / "own");
    const std::vector<PathInUse> own{{(directory / "own").string(), W_OK},
                                     {(directory / "none").string(), W_OK}};
    EXPECT_EQ(needs_override(own), "");
    if (geteuid() == 0) {
        fs::create_directory(directory / "theirs");
        std::ofstream(directory / "secret");
        ASSERT_EQ(chmod((directory / "secret").c_str(), 0600), 0);
        for (const char* const name : {"theirs", "secret"})
            ASSERT_EQ(chown((directory / name).c_str(), 65534, 65534), 0);
        EXPECT_EQ(needs_override({{(directory / "theirs").string(), R_OK}}), "") << "everybody may look";
        EXPECT_EQ(needs_override({own[0], {(directory / "theirs").string(), W_OK}}), directory / "theirs");
        EXPECT_EQ(needs_override({{(directory / "secret").string(), R_OK}}), directory / "secret");
        EXPECT_TRUE(permitted_privileges().has(CAP_DAC_OVERRIDE)) << "it only asks";
    }
    fs::remove_all(directory);
}

}  // namespace
}  // namespace spead::process
