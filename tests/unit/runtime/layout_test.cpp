// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/layout.hpp"

#include <algorithm>
#include <array>
#include <gmock/gmock.h>
#include <sched.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "heap/window.hpp"
#include "port/device_string.hpp"
#include "recv/distributor.hpp"
#include "runtime/layout_busy.hpp"

namespace spead::runtime {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Drives devices that take any request: 8 MiB for each receive queue, 1 MiB besides.
class FakeDriver final : public port::Driver {
  public:
    std::string_view name() const override { return "net_fake"; }
    port::Capabilities declared() const override {
        port::Capabilities c;
        c.max_rx_frame = c.max_tx_frame = 65535;
        c.tx_multi_segment = c.tx_external_buffer = true;
        return c;
    }
    port::PreparedDevice plan(const port::PortRequest& request) const override {
        requests.push_back(request);
        const auto device = port::DeviceString::parse(request.device, port::where(request));
        port::PreparedDevice d;
        d.name = device.name();
        d.devargs = device.text();
        d.capabilities = declared();
        d.rx_queues = d.rx_pools = request.rx_queues;
        d.tx_queues = request.tx_queues;
        d.device_bytes = kMiB;
        d.rx.descriptors = d.tx.descriptors = 1024;
        d.rx.pool_bytes = 8 * kMiB;
        if (device.has("iface"))
            d.netdev = "eth7";
        d.pci = device.has("card");
        if (device.has("remark"))
            d.remarks = {port::where(request) + ": it is slow"};
        return d;
    }

    mutable std::vector<port::PortRequest> requests;
};

FakeDriver fake;
const std::array<const port::Driver*, 1> kDrivers{&fake};

ReceivePlan receive(const std::string& name, const std::string& port, std::vector<unsigned> lcores = {}) {
    ReceivePlan r;
    r.name = name;
    r.port = port;
    r.endpoints = parse_endpoints("239.1.2.3:7148");
    r.lcores = std::move(lcores);
    return r;
}

SendPlan send_plan(const std::string& name, const std::string& port, std::optional<unsigned> lcore = {}) {
    SendPlan s;
    s.name = name;
    s.port = port;
    s.endpoints = parse_endpoints("239.1.2.3:7148");
    s.lcore = lcore;
    return s;
}

Plan plan_of(std::vector<ReceivePlan> receives, std::vector<SendPlan> sends) {
    Plan plan;
    for (const char* const name : {"p0", "p1", "p2", "p3"}) {
        const auto uses = [name](const auto& part) { return part.port == name; };
        if (std::any_of(receives.begin(), receives.end(), uses) ||
            std::any_of(sends.begin(), sends.end(), uses))
            plan.ports.push_back({name, "net_fake", 0});
    }
    plan.memory.heaps = 16 * kMiB;
    for (ReceivePlan& r : receives)
        r.max_bytes = kMiB;
    for (SendPlan& s : sends)
        s.heap_size = kMiB;
    plan.receives = std::move(receives);
    plan.sends = std::move(sends);
    return plan;
}

Layout lay_out(const Plan& plan, std::vector<std::string> eal_words = {}) {
    fake.requests.clear();
    return runtime::lay_out(plan, EalOptions::parse(std::move(eal_words)), kDrivers);
}

/// Restricts this process to the first `cpus` of its CPUs during its life.
class Restricted {
  public:
    explicit Restricted(std::size_t cpus) {
        sched_getaffinity(0, sizeof before_, &before_);
        cpu_set_t set;
        CPU_ZERO(&set);
        for (unsigned cpu = 0; cpu < CPU_SETSIZE && static_cast<std::size_t>(CPU_COUNT(&set)) < cpus; cpu++)
            if (CPU_ISSET(cpu, &before_))
                CPU_SET(cpu, &set);
        enough_ = static_cast<std::size_t>(CPU_COUNT(&set)) == cpus;
        sched_setaffinity(0, sizeof set, &set);
    }
    ~Restricted() { sched_setaffinity(0, sizeof before_, &before_); }
    Restricted(const Restricted&) = delete;
    Restricted& operator=(const Restricted&) = delete;

    /// Returns false if this machine has fewer.
    bool enough() const { return enough_; }

  private:
    cpu_set_t before_;
    bool enough_ = false;
};

TEST(LayOut, GivesOneStreamOneWorkerBesideTheMainLcore) {
    const Restricted two(2);
    if (!two.enough())
        GTEST_SKIP() << "needs two CPUs";
    const std::vector<unsigned> cpus = allowed_cpus();
    const Layout l = lay_out(plan_of({receive("s0", "p0")}, {}));
    EXPECT_EQ(l.main_lcore, 0U);
    EXPECT_EQ(l.main_cpu, cpus[0]);
    ASSERT_EQ(l.workers.size(), 1U);
    EXPECT_EQ(l.workers[0].lcore, 1U);
    EXPECT_EQ(l.workers[0].cpu, cpus[1]);
    EXPECT_THAT(l.workers[0].receives, ElementsAre(0));
    EXPECT_THAT(l.workers[0].sends, IsEmpty());
    EXPECT_FALSE(l.shares_cpus);
    EXPECT_THAT(l.remarks, IsEmpty());
    EXPECT_THAT(l.control_cpus(), ElementsAre(cpus[0]));
}

TEST(LayOut, LetsSendingAndReceivingTakeTurnsOnOneWorkerWhereThereIsNoOther) {
    const Restricted two(2);
    if (!two.enough())
        GTEST_SKIP() << "needs two CPUs";
    const Layout l = lay_out(plan_of({receive("s0", "p0"), receive("s1", "p1")}, {send_plan("d0", "p0")}));
    ASSERT_EQ(l.workers.size(), 1U);
    EXPECT_THAT(l.workers[0].receives, ElementsAre(0, 1));
    EXPECT_THAT(l.workers[0].sends, ElementsAre(0));
    EXPECT_FALSE(l.shares_cpus);
}

TEST(LayOut, SharesTheOnlyCpuAndSaysSo) {
    const Restricted one(1);
    const std::vector<unsigned> cpus = allowed_cpus();
    const Layout l = lay_out(plan_of({receive("s0", "p0")}, {send_plan("d0", "p0")}));
    ASSERT_EQ(l.workers.size(), 1U);
    EXPECT_EQ(l.workers[0].cpu, cpus[0]);
    EXPECT_TRUE(l.shares_cpus);
    EXPECT_THAT(l.remarks, ElementsAre("2 lcores share 1 CPU: idle lcores yield to each other"));
    EXPECT_THAT(l.control_cpus(), ElementsAre(cpus[0])) << "what is no lcore needs a CPU too";
    EXPECT_THAT(l.eal_args, Contains(fmt::format("0@{0},1@{0}", cpus[0])));
}

TEST(LayOut, WarnsOfABusyLcoreOnTheOnlyCpu) {
    Plan plan = plan_of({receive("s0", "p0")}, {});
    plan.receives[0].poll = PollMode::busy;
    {
        const Restricted one(1);
        EXPECT_THAT(busy_warnings(plan, lay_out(plan)),
                    Contains(HasSubstr("s0: its lcore polls without a pause")));
    }
    const Restricted two(2);
    if (two.enough()) {
        EXPECT_THAT(busy_warnings(plan, lay_out(plan)), IsEmpty());
    }
}

TEST(LayOut, PutsStreamsOnTheCpusThatThePlanNames) {
    const Restricted two(2);
    if (!two.enough())
        GTEST_SKIP() << "needs two CPUs";
    const std::vector<unsigned> cpus = allowed_cpus();
    Plan plan = plan_of({receive("s0", "p0", {cpus[0]})}, {send_plan("d0", "p0", cpus[1])});
    plan.runtime.main_cpu = cpus[1];
    const Layout l = lay_out(plan);
    ASSERT_EQ(l.workers.size(), 2U);
    EXPECT_EQ(l.main_cpu, cpus[1]);
    EXPECT_EQ(l.workers[0].cpu, cpus[0]);
    EXPECT_EQ(l.workers[1].cpu, cpus[1]);
    EXPECT_TRUE(l.workers[0].named && l.workers[1].named);
    EXPECT_TRUE(l.shares_cpus) << "the sender is on the main lcore's CPU";
    EXPECT_THAT(l.eal_args, Contains(fmt::format("0@{1},1@{0},2@{1}", cpus[0], cpus[1])));
}

TEST(LayOut, ChoosesCpusForTheRestAmongThoseThatNobodyNamed) {
    const Restricted two(2);
    if (!two.enough())
        GTEST_SKIP() << "needs two CPUs";
    const std::vector<unsigned> cpus = allowed_cpus();
    Plan plan = plan_of({receive("s0", "p0", {cpus[0]})}, {send_plan("d0", "p0")});
    plan.runtime.lcores = cpus;
    const Layout l = lay_out(plan);
    ASSERT_EQ(l.workers.size(), 2U);
    EXPECT_EQ(l.workers[0].cpu, cpus[0]);
    EXPECT_EQ(l.workers[1].cpu, cpus[1]);
    EXPECT_TRUE(l.workers[0].named);
    EXPECT_FALSE(l.workers[1].named);
}

TEST(LayOut, StreamsThatNameNoLcoreAreWhereTheFirstOfTheirPortIs) {
    const Restricted two(2);
    if (!two.enough())
        GTEST_SKIP() << "needs two CPUs";
    const std::vector<unsigned> cpus = allowed_cpus();
    const Layout l = lay_out(plan_of({receive("s0", "p0"), receive("s1", "p0", {cpus[1]})}, {}));
    ASSERT_EQ(l.workers.size(), 1U);
    EXPECT_EQ(l.workers[0].cpu, cpus[1]);
    EXPECT_THAT(l.workers[0].receives, ElementsAre(0, 1));
    EXPECT_THAT(l.remarks, IsEmpty());
}

TEST(LayOut, SpreadsAStreamOverTheLcoresThatItNamesAndSaysHow) {
    const Restricted two(2);
    if (!two.enough())
        GTEST_SKIP() << "needs two CPUs";
    const std::vector<unsigned> cpus = allowed_cpus();
    const Plan plan = plan_of({receive("s0", "p0", {cpus[1], cpus[0], cpus[1]}), receive("s1", "p0")}, {});
    const Layout l = lay_out(plan);
    ASSERT_EQ(l.workers.size(), 2U);
    EXPECT_EQ(l.workers[0].cpu, cpus[1]);
    EXPECT_EQ(l.workers[1].cpu, cpus[0]);
    EXPECT_THAT(l.workers[0].receives, ElementsAre(0, 1));
    EXPECT_THAT(l.workers[1].receives, ElementsAre(0));
    ASSERT_EQ(l.queues.size(), 1U);
    EXPECT_EQ(l.queues[0].cpu, cpus[1]) << "the first lcore that is named polls";
    EXPECT_THAT(l.queues[0].deliveries[0].cpus, ElementsAre(cpus[1], cpus[0]));
    EXPECT_THAT(l.queues[0].deliveries[1].cpus, ElementsAre(cpus[1]));
    EXPECT_THAT(l.remarks,
                Contains(fmt::format("port p0 has 1 receive queue: packets are passed on between lcores, "
                                     "heap by heap (s0 to CPU {}, {})",
                                     cpus[1], cpus[0])));
    const Layout alone = lay_out(plan_of({receive("s0", "p0")}, {}));
    EXPECT_EQ(l.ports[0].device.rx.mbufs, alone.ports[0].device.rx.mbufs + recv::Distributor::kRingEntries)
        << "room for what waits for the other lcore";
}

TEST(LayOut, RefusesCpusThatTheProcessMayNotUse) {
    const Restricted one(1);
    const unsigned cpu = allowed_cpus().front();
    const auto refused = [&](Plan plan, const std::string& where) {
        EXPECT_THAT([&] { lay_out(plan); },
                    ThrowsMessage<Error>(fmt::format(
                        "{}: CPU 1000 is not one of the CPUs that this process may use: {}", where, cpu)));
    };
    refused(plan_of({receive("s0", "p0", {1000})}, {}), "receive s0 lcores");
    refused(plan_of({}, {send_plan("d0", "p0", 1000)}), "send d0 lcore");
    Plan plan = plan_of({receive("s0", "p0")}, {});
    plan.runtime.main_cpu = 1000;
    refused(plan, "runtime main_cpu");
    plan.runtime.main_cpu.reset();
    plan.runtime.lcores = {cpu, 1000};
    refused(plan, "runtime lcores");
    EXPECT_NO_THROW(lay_out(plan, {"-l", "0,1000"})) << "the user's lcores are EAL's affair";
}

// Ports.

TEST(LayOut, AsksEachPortForWhatItsStreamsNeed) {
    Plan plan = plan_of({receive("s0", "p0"), receive("s1", "p0"), receive("s2", "p1")},
                        {send_plan("d0", "p1"), send_plan("d1", "p1"), send_plan("d2", "p2")});
    plan.receives[0].max_packet_size = 1000;
    plan.receives[1].max_packet_size = 5000;
    plan.receives[1].buffer_size = 77;
    plan.receives[0].buffer_size = 33;
    plan.sends[1].max_packet_size = 9000;
    plan.ports[1].mtu = 9100;
    plan.receives[2].endpoints = plan.sends[2].endpoints = parse_endpoints("[ff15::1]:7148");
    const Layout l = lay_out(plan);
    ASSERT_EQ(fake.requests.size(), 3U);
    const auto& [p0, p1, p2] = std::tie(fake.requests[0], fake.requests[1], fake.requests[2]);
    EXPECT_EQ(p0.rx_queues, 1);
    EXPECT_EQ(p0.tx_queues, 0);
    EXPECT_EQ(p0.max_rx_packet, 5000U);
    EXPECT_EQ(p0.max_tx_packet, 0U);
    EXPECT_EQ(p0.buffer_size, 77U);
    EXPECT_TRUE(!p0.ipv6 && p1.ipv6 && p2.ipv6);
    EXPECT_EQ(p1.max_rx_packet, 9220U) << "the headers of IPv6 are longer";
    EXPECT_EQ(p2.max_tx_packet, 1472U);
    EXPECT_EQ(p1.rx_queues, 1);
    EXPECT_EQ(p1.tx_queues, 2);
    EXPECT_EQ(p1.max_tx_packet, 9000U);
    EXPECT_EQ(p1.mtu, 9100U);
    EXPECT_EQ(p2.rx_queues, 0);
    EXPECT_EQ(p2.tx_queues, 1);
    EXPECT_EQ(l.port("p1").device.name, "net_fake1");
    EXPECT_THAT([&] { static_cast<void>(l.port("p9")); }, ThrowsMessage<Error>("p9: there is no such port"));
}

TEST(LayOut, PassesOnWhatThePortsRemark) {
    Plan plan = plan_of({receive("s0", "p0")}, {});
    plan.ports[0].device = "net_fake7,remark=1";
    EXPECT_THAT(lay_out(plan).remarks, Contains("port p0: it is slow"));
}

// Memory.

TEST(LayOut, AddsUpTheMemoryOfEverything) {
    const Plan one = plan_of({receive("s0", "p0")}, {});
    const Layout first = lay_out(one);
    EXPECT_EQ(first.heap_bytes, 16 * kMiB);
    EXPECT_EQ(first.send_bytes, 0U);
    heap::WindowConfig window;
    window.max_live = one.receives[0].max_live;
    window.history = one.receives[0].history;
    window.guarded = true;
    EXPECT_EQ(first.bookkeeping_bytes, heap::Window::bookkeeping_bytes(window, one.receives[0].queue_depth));

    // Another port with a receive queue takes 9 MiB, and an eighth more for memory that is not counted.
    const Layout second = lay_out(plan_of({receive("s0", "p0"), receive("s1", "p1")}, {}));
    EXPECT_EQ(second.eal_bytes - first.eal_bytes, 9 * kMiB * 9 / 8);
    EXPECT_EQ(second.heap_bytes, 16 * kMiB) << "one budget for all streams";
    EXPECT_EQ(second.bookkeeping_bytes, 2 * first.bookkeeping_bytes);

    Plan sending = plan_of({}, {send_plan("d0", "p0")});
    sending.sends[0].max_heaps = 7;
    const Layout third = lay_out(sending);
    EXPECT_EQ(third.send_bytes, 8 * kMiB);
    EXPECT_EQ(third.heap_bytes, 0U);
    EXPECT_EQ(third.bookkeeping_bytes, 0U);
    const std::size_t pools =
        send::Sender::memory_need(sender_config(sending.sends[0], third.ports[0])).bytes;
    EXPECT_GT(pools, kMiB);
    EXPECT_EQ(first.eal_bytes - third.eal_bytes + pools * 9 / 8, 8 * kMiB * 9 / 8)
        << "a receive queue less, the sender's pools more";
}

TEST(LayOut, RefusesSendersWhosePayloadIsMoreThanAProcessCanMap) {
    Plan plan = plan_of(
        {}, {send_plan("d0", "p0"), send_plan("d1", "p0"), send_plan("d2", "p0"), send_plan("d3", "p0")});
    for (SendPlan& s : plan.sends) {
        s.max_heaps = 65535;
        s.heap_size = std::uint64_t{1} << 46;
    }
    // Four times 2^16 heaps of 2^46 bytes are 2^64, which would be none.
    EXPECT_THAT([&] { static_cast<void>(lay_out(plan)); },
                ThrowsMessage<Error>(AllOf(HasSubstr("send d1: its heaps in flight need 4096 PiB "
                                                     "((`max_heaps` 65535 + 1) x 64 TiB)"),
                                           HasSubstr("before it 4096 PiB"))));
}

TEST(LayOut, RefusesACaptureWhoseDirectoryIsAbsent) {
    Plan plan = plan_of({receive("s0", "p0")}, {});
    plan.receives[0].capture.emplace().files = {"/nonexistent/data/a.pcap"};
    EXPECT_THAT([&] { static_cast<void>(lay_out(plan)); },
                ThrowsMessage<Error>(AllOf(HasSubstr("capture of s0: "),
                                           HasSubstr("there is no directory /nonexistent/data; make it"))));
    plan.receives[0].capture->files = {"/tmp/a.pcap", "b.pcap"};
    EXPECT_NO_THROW(static_cast<void>(lay_out(plan)));
}

TEST(LayOut, RefusesAFileSinkWhoseDirectoryCannotBeMade) {
    Plan plan = plan_of({receive("s0", "p0")}, {});
    for (const char* const directory : {"/nonexistent/out", "/nonexistent/out/", "/nonexistent/x/../out"}) {
        plan.receives[0].sink = {SinkKind::file, directory};
        EXPECT_THAT([&] { static_cast<void>(lay_out(plan)); },
                    ThrowsMessage<Error>(
                        AllOf(HasSubstr("sink of s0: "), HasSubstr(directory),
                              HasSubstr("there is no directory /nonexistent; make it with `mkdir -p`"))));
    }
    for (const char* const directory : {"/tmp/no-such-name", "/tmp/no-such-name/", "out", "out/", "/", "."}) {
        plan.receives[0].sink = {SinkKind::file, directory};
        EXPECT_NO_THROW(static_cast<void>(lay_out(plan))) << directory;
    }
}

TEST(LayOut, CountsWhatArenasReallyTake) {
    Plan plan = plan_of({receive("s0", "p0")}, {});
    plan.memory.heaps = 10 * kMiB;
    plan.receives[0].max_bytes = 3 * kMiB;
    const Layout l = lay_out(plan);
    EXPECT_EQ(l.workers[0].largest_heap, 3 * kMiB);
    EXPECT_EQ(l.workers[0].heap_bytes, 12 * kMiB) << "three blocks of 4 MiB";
    EXPECT_EQ(l.heap_bytes, 12 * kMiB);
    EXPECT_THAT(l.remarks, Contains(AllOf(HasSubstr("12 MiB"), HasSubstr("10 MiB"))));
}

TEST(LayOut, GivesEveryLcoreItsStreamsShareOfTheHeaps) {
    const Restricted two(2);
    if (!two.enough())
        GTEST_SKIP() << "needs two CPUs";
    const std::vector<unsigned> cpus = allowed_cpus();
    Plan plan = plan_of(
        {receive("s0", "p0", {cpus[0]}), receive("s1", "p1", {cpus[1]}), receive("s2", "p1", {cpus[1]})}, {});
    plan.memory.heaps = 30 * kMiB;
    plan.receives[2].max_bytes = 2 * kMiB;
    const Layout l = lay_out(plan);
    ASSERT_EQ(l.workers.size(), 2U);
    EXPECT_EQ(l.workers[0].heap_bytes, 10 * kMiB);
    EXPECT_EQ(l.workers[0].largest_heap, kMiB);
    EXPECT_EQ(l.workers[1].heap_bytes, 20 * kMiB);
    EXPECT_EQ(l.workers[1].largest_heap, 2 * kMiB);
    EXPECT_EQ(l.heap_bytes, 30 * kMiB);
    EXPECT_THAT(l.remarks, Not(Contains(HasSubstr("heaps take"))));
}

TEST(LayOut, RefusesWhatDoesNotFitWithTheSum) {
    Plan plan = plan_of({receive("s0", "p0")}, {send_plan("d0", "p0")});
    plan.memory.heaps = std::size_t{1} << 45;
    EXPECT_THAT(
        [&] { lay_out(plan); },
        ThrowsMessage<Error>(AllOf(HasSubstr("memory: it does not suffice: 33554432 MiB for heaps + "),
                                   HasSubstr(" MiB for windows and queues + 5 MiB of payload to send + "),
                                   HasSubstr("MiB are available"), HasSubstr("[memory] heaps"))));
}

TEST(LayOut, AUnicastEndpointNeedsAMacAddressOrAnInterfaceThatCanFindIt) {
    Plan plan = plan_of({}, {send_plan("d0", "p0")});
    plan.sends[0].endpoints = parse_endpoints("239.1.2.3:7148");
    plan.sends[0].endpoints.push_back(parse_endpoints("10.0.0.5:7148").front());
    EXPECT_THAT([&] { lay_out(plan); },
                ThrowsMessage<UsageError>(AllOf(
                    HasSubstr("send d0 endpoints: the unicast endpoint 10.0.0.5:7148 needs the MAC address"),
                    HasSubstr("port p0 (net_fake0)"), HasSubstr("`dst_mac` (--dst-mac)"))));
    const MacAddress mac{2, 0, 0, 0, 0, 5};
    plan.sends[0].dst_mac = mac;
    const Layout l = lay_out(plan);
    const send::SenderConfig config = sender_config(plan.sends[0], l.ports[0]);
    EXPECT_EQ(config.destinations[0].mac, std::nullopt) << "a group has its own";
    EXPECT_EQ(config.destinations[1].mac, mac);
    plan.sends[0].dst_mac.reset();
    plan.ports[0].device = "net_fake0,iface=eth7";
    EXPECT_NO_THROW(lay_out(plan));
}

TEST(EalArguments, FollowThePlannedPorts) {
    Plan plan = plan_of({receive("a", "p0")}, {});
    EXPECT_THAT(lay_out(plan, {"--in-memory"}).eal_args, Contains("--no-pci"));
    plan.ports[0].device = "net_fake0,card=1";
    EXPECT_THAT(lay_out(plan, {"--in-memory"}).eal_args,
                AllOf(Contains("0000:00:00.0"), Not(Contains("--no-pci"))));
    EXPECT_THAT(
        [&] {
            lay_out(plan, {"--in-memory", "--no-pci"});
        },
        ThrowsMessage<UsageError>(HasSubstr("--no-pci")));
}

// Texts for people.

TEST(Describe, SaysWhatRunsWhereAndWhatItTakes) {
    const Restricted one(1);
    const unsigned cpu = allowed_cpus().front();
    const Plan plan = plan_of({receive("fengine", "p0")}, {send_plan("dsim", "p1")});
    const std::string text = describe(lay_out(plan), plan);
    EXPECT_THAT(text, HasSubstr(fmt::format("main lcore 0 on CPU {}\n", cpu)));
    EXPECT_THAT(text,
                HasSubstr(fmt::format("lcore 1 on CPU {}: receive fengine (p0) send dsim (p1)\n", cpu)));
    EXPECT_THAT(text, HasSubstr("port p0: net_fake0\n  receive queue: 1024 descriptors"));
    EXPECT_THAT(text, HasSubstr("port p1: net_fake1\n  transmit queue: 1024 descriptors"));
    EXPECT_THAT(text, HasSubstr("memory: 16 MiB for heaps"));
    EXPECT_THAT(text, HasSubstr("lcores share"));
    EXPECT_THAT(text, HasSubstr("EAL arguments: --lcores "));
}

TEST(LayOut, ChunksNeedNoMemoryForHeaps) {
    Plan plan = plan_of({receive("s0", "p0")}, {});
    plan.receives[0].chunk.emplace().placement = "heap 64; time: item 0x1600 [8]; direct";
    const Layout direct = lay_out(plan);
    EXPECT_EQ(direct.heap_bytes, 0U);
    EXPECT_EQ(direct.bookkeeping_bytes, 0U) << "each packet tells";
    plan.receives[0].enabled = false;
    EXPECT_EQ(lay_out(plan).heap_bytes, 0U) << "nor when it is started later";
}

TEST(LayOut, AnAxisOfEndpointsThatDoesNotFitIsRemarkedOn) {
    Plan plan = plan_of({receive("s0", "p0")}, {});
    plan.receives[0].chunk.emplace();
    const auto remarks = [&plan](const std::string& axis) {
        plan.receives[0].chunk->placement = "heap 64; axis ant: " + axis + "; time: item 0x1600 [8]";
        return lay_out(plan).remarks;
    };
    const auto of_axis = Contains(HasSubstr("the axis `ant` has"));
    EXPECT_THAT(remarks("endpoint [1]"), Not(of_axis));
    EXPECT_THAT(remarks("endpoint [4]"), Contains(HasSubstr("4 places, and the stream has 1 endpoint")));
    EXPECT_THAT(remarks("endpoint & 1 [2]"), Not(of_axis)) << "a mask may do anything";
}

}  // namespace
}  // namespace spead::runtime
