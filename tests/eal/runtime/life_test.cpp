// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <rte_ethdev.h>

#include "runtime/eal.hpp"
#include "tests/eal/runtime/rig.hpp"
#include "tests/support/file_size_limit.hpp"

/// Engines that come and go, and runs that fail: nothing is left behind, and the next run is a new one.
namespace spead::runtime::test {
namespace {

using spead::test::FileSizeLimit;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;
using Reason = Engine::Reason;

/// Checks that the process is as new: the same ports, lcores and all heaps.
void expect_usable() {
    const Ended e = run(loopback(40));
    EXPECT_EQ(e.reason, Reason::sent);
    EXPECT_EQ(e.complete(), 40U);
    EXPECT_EQ(e.stream().heaps_verified, 40U);
    EXPECT_THAT(e.problems, IsEmpty());
}

std::size_t ports() {
    std::size_t n = 0;
    for (std::uint16_t id = 0; id < RTE_MAX_ETHPORTS; id++)
        n += rte_eth_dev_is_valid_port(id) != 0;
    return n;
}

TEST(Engine, RunsOneAfterTheOther) {
    for (int i = 0; i < 3; i++)
        expect_usable();
    EXPECT_EQ(ports(), 0U);
}

TEST(Engine, MayBeDestroyedWithoutHavingStarted) {
    const Plan plan = loopback(10);
    {
        Engine engine(plan, layout_of(plan));
        EXPECT_EQ(ports(), 1U);
        expect_identities(engine.snapshot());
    }
    EXPECT_EQ(ports(), 0U);
    expect_usable();
}

TEST(Engine, MayBeStoppedWithoutHavingStarted) {
    const Plan plan = loopback(10);
    Engine engine(plan, layout_of(plan));
    engine.stop();
    engine.stop();
    EXPECT_THAT(engine.problems(), IsEmpty());
    const stats::Snapshot s = engine.snapshot();
    EXPECT_EQ(s.duration_s, 0);
    EXPECT_EQ(s.ports[0].rx_packets, 0U);
}

TEST(Engine, MayBeDestroyedWhileItRuns) {
    const Plan plan = loopback(-1);
    {
        Engine engine(plan, layout_of(plan));
        engine.start();
    }
    EXPECT_EQ(ports(), 0U);
    expect_usable();
}

TEST(Engine, AnswersAfterItsEndAndEndsOnce) {
    const Plan plan = loopback(10);
    Engine engine(plan, layout_of(plan));
    engine.start();
    EXPECT_EQ(engine.run(-1, {}), Reason::sent);
    engine.stop();
    const stats::Snapshot first = engine.snapshot();
    engine.stop();
    const stats::Snapshot second = engine.snapshot();
    EXPECT_EQ(first.duration_s, second.duration_s);
    EXPECT_EQ(first.sends[0].counters.heaps, 10U);
    EXPECT_EQ(second.sends[0].counters.heaps, 10U);
    EXPECT_EQ(second.sends[0].control_heaps, 1U);
    EXPECT_EQ(second.streams[0].heaps_verified, 10U);
    EXPECT_EQ(second.ports[0].driver, "net_ring");
}

TEST(Engine, IsSteppedByALoopThatIsNotItsOwn) {
    const Plan plan = loopback(40);
    Engine engine(plan, layout_of(plan));
    Executor executor;
    engine.serve(executor);
    engine.start();
    std::optional<std::size_t> streams;
    executor.post([&] { streams = engine.plan().receives.size(); });
    int ticks = 0;
    std::optional<Reason> reason;
    while (!(reason = engine.step([&ticks](const stats::Snapshot& s) {
        ticks++;
        expect_identities(s);
    })))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(reason, Reason::sent);
    EXPECT_EQ(streams, 1U);
    EXPECT_GE(ticks, 1);
    engine.interrupt();
    EXPECT_EQ(engine.step({}), Reason::interrupted);
    engine.stop();
    EXPECT_EQ(engine.totals().streams[0].heaps_verified, 40U);
    EXPECT_THAT(engine.problems(), IsEmpty());
}

// Constructors that fail half-way.

TEST(Engine, LeavesNothingBehindWhenASinkCannotBeMade) {
    const Directory directory;
    Plan plan = loopback(10);
    plan.receives.push_back(receive("s1", "239.1.2.4:7148"));
    plan.receives[1].sink = {SinkKind::file, directory.file("no/such")};
    EXPECT_THAT([&] { Engine(plan, layout_of(plan)); }, ThrowsMessage<Error>(HasSubstr("no/such")));
    EXPECT_EQ(ports(), 0U);
    expect_usable();
}

TEST(Engine, LeavesNothingBehindWhenAPortCannotBeOpened) {
    Plan plan = loopback(10);
    plan.ports.push_back({"p1", "net_ring7", 0});
    plan.receives.push_back(receive("s1", "239.1.2.4:7148", "p1"));
    const Layout layout = layout_of(plan);
    port::PortRequest taken = port::test::request("net_ring7");
    const auto other = port::test::open_port(taken);
    EXPECT_THAT([&] { Engine(plan, layout); },
                ThrowsMessage<Error>(AllOf(HasSubstr("port p1"), HasSubstr("net_ring7"))));
    EXPECT_EQ(ports(), 1U);
    expect_usable();
}

TEST(Engine, LeavesNothingBehindWhenASenderCannotBeMade) {
    Plan plan = loopback(10);
    plan.sends.push_back(send("d1", "10.0.0.1:7148", 5));
    plan.sends[1].dst_mac = MacAddress{2, 0, 0, 0, 0, 1};
    const Layout layout = layout_of(plan);
    plan.sends[1].dst_mac.reset();
    EXPECT_THAT([&] { Engine(plan, layout); },
                ThrowsMessage<Error>(AllOf(HasSubstr("send d1: "), HasSubstr("10.0.0.1"))));
    EXPECT_EQ(ports(), 0U);
    expect_usable();
}

TEST(Engine, RefusesAnEndpointThatTwoStreamsOfAPortReceive) {
    Plan plan = loopback(10);
    plan.receives.push_back(receive("s1", "239.1.2.3:7148"));
    EXPECT_THAT(
        [&] { Engine(plan, layout_of(plan)); },
        ThrowsMessage<UsageError>(AllOf(HasSubstr("s1"), HasSubstr("239.1.2.3:7148"), HasSubstr("p0"))));
    EXPECT_EQ(ports(), 0U);
}

// Starts that fail.

/// Keeps an lcore busy for as long as it lives.
class Occupied {
  public:
    explicit Occupied(unsigned lcore) : lcore_(lcore) {
        EXPECT_EQ(rte_eal_remote_launch(
                      [](void* leave) {
                          while (!static_cast<std::atomic<bool>*>(leave)->load())
                              std::this_thread::yield();
                          return 0;
                      },
                      &leave_, lcore),
                  0);
    }
    ~Occupied() {
        leave_ = true;
        rte_eal_wait_lcore(lcore_);
    }
    Occupied(const Occupied&) = delete;
    Occupied& operator=(const Occupied&) = delete;

  private:
    unsigned lcore_;
    std::atomic<bool> leave_{false};
};

TEST(Engine, EndsInOrderWhenAnLcoreCannotBeStarted) {
    const Plan plan = loopback(10);
    for (const bool second : {false, true}) {
        const Layout layout = layout_on_two_lcores(plan);
        const unsigned lcore = layout.workers[second ? 1 : 0].lcore;
        {
            const Occupied occupied(lcore);
            Engine engine(plan, layout);
            EXPECT_THAT([&] { engine.start(); },
                        ThrowsMessage<Error>(AllOf(
                            HasSubstr(fmt::format("lcore {} cannot be started", lcore)), HasSubstr("busy"))));
            engine.stop();
            EXPECT_THAT(engine.problems(), IsEmpty()) << "the error has been thrown already";
            expect_identities(engine.snapshot());
        }
        EXPECT_EQ(ports(), 0U);
    }
    expect_usable();
}

// Runs that fail.

TEST(Run, FailsWithASinkThatIsToEndItAndSaysWhy) {
    for (const OnFullSetting on_full :
         {OnFullSetting::drop_newest, OnFullSetting::drop_oldest, OnFullSetting::block}) {
        const Directory directory;
        Plan plan = loopback(-1);
        plan.receives[0].on_full = on_full;
        plan.receives[0].queue_depth = 8;
        plan.receives[0].sink = {SinkKind::file, directory.file("out"), OnSinkError::end};
        plan.receives.push_back(receive("s1", "239.1.2.4:7148"));
        plan.sends.push_back(send("d1", "239.1.2.4:7148", -1));
        const Layout layout = layout_of(plan);
        const FileSizeLimit limit(10'000);
        const Ended e = run(plan, layout);
        EXPECT_EQ(e.reason, Reason::failure);
        EXPECT_THAT(e.problems,
                    ElementsAre(AllOf(HasSubstr(directory.file("out/s0-")), HasSubstr("File too large"))));
        EXPECT_EQ(e.sent(0).counters.aborted, 0U) << "nobody waits for a consumer that has failed";
    }
    expect_usable();
}

/// Fills the disk of one stream; no other stream notices.
TEST(Run, GoesOnWithoutASinkThatFailed) {
    for (const OnFullSetting on_full : {OnFullSetting::drop_newest, OnFullSetting::block}) {
        const Directory directory;
        Plan plan = loopback(40);
        plan.receives[0].on_full = on_full;
        plan.receives[0].sink = {SinkKind::file, directory.file("out")};
        plan.sends[0].heap_size = 4'000;
        plan.receives.push_back(receive("s1", "239.1.2.4:7148"));
        plan.sends.push_back(send("d1", "239.1.2.4:7148", 200));
        std::vector<std::string> events;
        EngineHooks hooks;
        hooks.on_event = [&](const std::string& stream, const stats::LastEvent& event) {
            events.push_back(fmt::format("{} {}", stream, name_of(event.kind)));
        };
        const FileSizeLimit limit(3'000);
        const Ended e = run(plan, hooks);
        EXPECT_EQ(e.reason, Reason::sent);
        EXPECT_THAT(e.problems,
                    ElementsAre(AllOf(HasSubstr("stream s0: its sink takes no more heaps"),
                                      HasSubstr(directory.file("out/s0-")), HasSubstr("File too large"),
                                      HasSubstr("written before that: the payload of 0 heaps"))));
        EXPECT_THAT(events, ElementsAre("s0 sink_failed"));
        const stats::StreamSnapshot& failed = e.stream(0);
        EXPECT_EQ(failed.heaps_unwritten, e.complete(0));
        EXPECT_EQ(failed.heaps_unwritten, 40U);
        EXPECT_EQ(failed.heaps_delivered, 0U);
        EXPECT_EQ(failed.heaps_dropped_full, 0U) << "a queue that nobody empties would be full";
        EXPECT_THAT(failed.sink_failure, HasSubstr("File too large"));
        EXPECT_EQ(failed.events[static_cast<std::size_t>(stats::StreamEvent::sink_failed)], 1U);
        EXPECT_EQ(e.stream(1).heaps_verified, 200U);
        EXPECT_EQ(e.stream(1).heaps_unwritten, 0U);
        EXPECT_EQ(e.stream(1).sink_failure, "");
    }
    expect_usable();
}

/// Sends to net_pcap, which takes every packet although the file does not.
TEST(Run, FailsWithItsCaptureFileAndSaysWhatWasWritten) {
    const Directory directory;
    Plan plan = loopback(-1);
    plan.receives.clear();
    plan.sends[0].rate = 10e6;
    plan.ports[0].device = "net_pcap0,tx_pcap=" + directory.file("out.pcap");
    plan.end.duration = 20;
    const Layout layout = layout_of(plan);
    const FileSizeLimit limit(100'000);
    const Ended e = run(plan, layout);
    EXPECT_EQ(e.reason, Reason::failure);
    EXPECT_THAT(e.problems,
                ElementsAre(AllOf(HasSubstr(directory.file("out.pcap") + " holds only 100000 of the "),
                                  HasSubstr("is the file system full?"))));
    EXPECT_EQ(e.sent().counters.aborted, 0U);
    EXPECT_LT(e.last.duration_s, 20);
    expect_usable();
}

TEST(Run, FailsWithASenderWhosePacketsAreTooSmallForItsItems) {
    Plan plan = loopback(5);
    plan.sends[0].items = 1000;
    plan.sends[0].heap_size = 100'000;
    plan.sends[0].max_packet_size = 56;
    const Ended e = run(plan);
    if (e.reason == Reason::failure)
        EXPECT_THAT(e.problems, ElementsAre(HasSubstr("d0")));
    else
        EXPECT_EQ(e.complete(), 5U);
    expect_usable();
}

/// Interrupts a sender, which does not keep its user waiting for the heaps in flight.
TEST(Run, GivesUpTheHeapsInFlightWhenTheirRateIsTooLow) {
    Plan plan = loopback(-1);
    plan.sends[0].rate = 1000;  // a heap takes many minutes
    plan.sends[0].burst_size = 1472;
    plan.sends[0].heap_size = kMiB / 2;
    const Interrupt interrupt;
    EngineHooks hooks;
    hooks.longest_finish = std::chrono::minutes(5);  // which nobody waits for: it is known before
    const auto once_it_sends = [&interrupt](const stats::Snapshot& s) {
        if (s.sends[0].counters.packets != 0)
            interrupt.now();
    };
    const Ended e = run(plan, layout_of(plan), interrupt.fd(), once_it_sends, hooks);
    EXPECT_EQ(e.reason, Reason::interrupted);
    EXPECT_THAT(e.problems, IsEmpty());
    EXPECT_THAT(e.remarks, ElementsAre(AllOf(HasSubstr("send d0: "), HasSubstr(" given up, because"))));
    EXPECT_GT(e.sent().counters.aborted, 0U);
    EXPECT_EQ(e.sent().counters.heaps, 0U);
    EXPECT_EQ(e.stream().stop_items, 1U);
    expect_usable();
}

/// Replaces a file by a pipe after it was checked: the lcore waits for its reader.
TEST(Run, EndsWithAReportWhenAnLcoreDoesNotAnswer) {
    const Directory directory;
    const std::string path = directory.file("out.pcap");
    Plan plan = loopback(-1);
    plan.receives.clear();
    plan.sends[0].rate = 500'000;
    plan.sends[0].burst_size = 1472;
    plan.ports[0].device = "net_pcap0,tx_pcap=" + path;
    plan.end.duration = 60;
    const Layout layout = layout_of(plan);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    EngineHooks hooks;
    hooks.port_patience = std::chrono::milliseconds(100);
    hooks.lcore_patience = std::chrono::milliseconds(1500);
    {
        Engine engine(plan, layout, hooks);
        engine.start();
        EXPECT_EQ(engine.run(-1, {}), Reason::failure);
        engine.stop();
        EXPECT_THAT(engine.problems(), ElementsAre(HasSubstr("lcore 1 on CPU")));
        const stats::Snapshot last = engine.snapshot();
        EXPECT_GT(last.sends[0].counters.packets, 0U) << "as far as it is known";
        EXPECT_GT(last.duration_s, 0);
        expect_identities(last);
        // The engine can be destroyed whether or not the lcore comes back; a test must leave nothing behind.
        std::array<char, 65536> bytes;
        while (rte_eal_get_lcore_state(1) == RUNNING)
            if (read(reader, bytes.data(), bytes.size()) <= 0)
                std::this_thread::yield();
    }
    close(reader);
    EXPECT_EQ(ports(), 0U);
    expect_usable();
}

// Lcores of the user's choice.

TEST(UseLcoresOfEal, TakesThemInTurnAndSeesThatTheyShareCpus) {
    Plan plan = loopback(10);
    const EalOptions options = EalOptions::parse({"-l", "x"});
    Layout layout = lay_out(plan, options, drivers::table());
    layout.workers.resize(2);
    layout.workers[1].cpu = 1000;
    use_lcores_of_eal(layout, options);
    EXPECT_EQ(layout.main_lcore, 0U);
    EXPECT_EQ(std::set<unsigned>({layout.workers[0].lcore, layout.workers[1].lcore}),
              (std::set<unsigned>{1, 2}));
    const rte_cpuset_t cpus = rte_lcore_cpuset(layout.workers[1].lcore);
    EXPECT_TRUE(CPU_ISSET(layout.workers[1].cpu, &cpus)) << "it names a CPU that its lcore runs on";
    EXPECT_TRUE(layout.shares_cpus) << "three lcores on two CPUs";
}

TEST(UseLcoresOfEal, RefusesTooFew) {
    const EalOptions options = EalOptions::parse({"-l", "x"});
    Layout layout;
    layout.workers.resize(3);
    EXPECT_THAT(
        [&] { use_lcores_of_eal(layout, options); },
        ThrowsMessage<Error>(AllOf(HasSubstr("too few lcores: 3 workers are needed beside the main lcore 0"),
                                   HasSubstr("gives 2"))));
}

TEST(UseLcoresOfEal, RefusesACpuThatThePlanNamesAndEalHasNot) {
    const EalOptions options = EalOptions::parse({"-l", "x"});
    Layout layout;
    layout.workers.resize(1);
    layout.workers[0].cpu = 1000;
    layout.workers[0].named = true;
    EXPECT_THAT([&] { use_lcores_of_eal(layout, options); },
                ThrowsMessage<Error>(AllOf(HasSubstr("the plan names CPU 1000"), HasSubstr("1,2"))));
}

TEST(UseLcoresOfEal, LeavesOurOwnChoiceAlone) {
    Layout layout;
    layout.workers.resize(3);
    layout.workers[2].lcore = 77;
    use_lcores_of_eal(layout, {});
    EXPECT_EQ(layout.workers[2].lcore, 77U);
}

TEST(Eal, IsInitialisedOnceInAProcess) {
    EXPECT_THAT([] { Eal({"--no-huge"}); }, ThrowsMessage<Error>(HasSubstr("initialised EAL before")));
    EXPECT_THAT(Eal::worker_lcores(), ElementsAre(1, 2));
}

}  // namespace
}  // namespace spead::runtime::test
