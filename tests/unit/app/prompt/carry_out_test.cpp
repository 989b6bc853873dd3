// SPDX-License-Identifier: BSD-3-Clause
#include <fstream>
#include <gmock/gmock.h>
#include <sstream>

#include <gtest/gtest.h>

#include "app/prompt/context.hpp"
#include "tests/unit/app/prompt/fake_process.hpp"

namespace spead::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CarryOutTest : public testing::Test {
  protected:
    CarryOutTest() {
        session_.print = [this](std::string_view text) { said_ += text; };
    }
    /// Returns the text that a line prints.
    std::string type(const std::string& line) {
        said_.clear();
        Context context{process_, grammar_, session_};
        carry_out(context, line);
        return said_;
    }
    std::string refusal(const std::string& line) {
        const runtime::Plan before = process_.plan_;
        try {
            type(line);
        } catch (const Error& error) {
            EXPECT_EQ(process_.plan_, before) << "a refused command changed something";
            return error.what();
        }
        return "done";
    }

    test::FakeProcess process_;
    Grammar grammar_{prompt_commands()};
    PromptSession session_;
    std::string said_;
};

TEST_F(CarryOutTest, NothingTypedIsNoCommand) {
    Context context{process_, grammar_, session_};
    EXPECT_FALSE(carry_out(context, "   # only a comment"));
    EXPECT_TRUE(carry_out(context, "show memory"));
}

TEST_F(CarryOutTest, ShowUsesTheReportsNamesAndNumbers) {
    const std::string all = type("show stream");
    EXPECT_THAT(all, HasSubstr("s0"));
    EXPECT_THAT(all, HasSubstr("received"));
    const std::string one = type("show stream s0");
    EXPECT_THAT(one, HasSubstr("packets.received"));
    EXPECT_THAT(one, HasSubstr("heaps.dropped_full"));
    EXPECT_THAT(one, testing::ContainsRegex("packets.received +101\n"));
    EXPECT_THAT(type("show port p0"), HasSubstr("nic.missed"));
    EXPECT_THAT(type("show port xstats p0"), testing::ContainsRegex("rx_good_packets +77\n"));
    EXPECT_THAT(type("show send"), HasSubstr("d0"));
    EXPECT_THAT(type("show heap all"), HasSubstr("delivered"));
    EXPECT_THAT(type("show memory"), testing::ContainsRegex("pool0 +1024 +24 +1000"));
    EXPECT_THAT(type("show config"), HasSubstr("version = 1"));
    EXPECT_THAT(type("show config d0"), testing::StartsWith("[[send]]\nname = \"d0\""));
    EXPECT_THAT(type("show config d0"), Not(HasSubstr("receive")));
    EXPECT_EQ(type("flow list"), type("show flow"));
}

TEST_F(CarryOutTest, ClearCountsFromNowForThisSessionOnly) {
    EXPECT_THAT(type("show stream s0"), testing::ContainsRegex("packets.received +101\n"));
    type("clear stats");
    process_.now_.streams[0].received += 6;
    process_.now_.duration_s += 1;
    EXPECT_THAT(type("show stream s0"), testing::ContainsRegex("packets.received +6\n"));
    EXPECT_THAT(said_, HasSubstr("since `clear stats`"));
    type("clear undo");
    EXPECT_THAT(type("show stream s0"), testing::ContainsRegex("packets.received +107\n"));
}

TEST_F(CarryOutTest, PortsStopAndStart) {
    EXPECT_THAT(type("port stop p0"), HasSubstr("stopped"));
    EXPECT_THAT(type("port start p0"), HasSubstr("runs again"));
    EXPECT_EQ(process_.done, (std::vector<std::string>{"stop port p0", "start port p0"}));
}

TEST_F(CarryOutTest, CapturesTakeTheFilesOwnSettings) {
    session_.directory = "/data";
    EXPECT_THAT(type("capture start s0 a.pcap capture.count 12 capture.duration 2min "
                     "capture.rotate_size 1MiB"),
                HasSubstr("captured to /data/a.pcap"));
    EXPECT_EQ(process_.captured.files, std::vector<std::string>{"/data/a.pcap"});
    EXPECT_EQ(process_.captured.count, 12u);
    EXPECT_EQ(process_.captured.duration, 120);
    EXPECT_EQ(process_.captured.rotate_size, 1u << 20);
    EXPECT_THAT(type("capture stop s0"), HasSubstr("12 packets captured, 11 written"));
    EXPECT_EQ(process_.plan_.receives[0].capture, std::nullopt) << "the configuration is not changed";
    process_.capture_failure = "cannot write the capture file a.pcap: No space left on device";
    EXPECT_THAT(refusal("capture stop s0"),
                AllOf(HasSubstr("12 packets captured, 11 written"), HasSubstr("No space left on device")));
    Context context{process_, grammar_, session_};
    for (const char* line :
         {"capture start s0 a.pcap poll busy", "capture start s0 a.pcap capture.count x", "capture start s0"})
        EXPECT_THROW(carry_out(context, line), UsageError) << line;
    EXPECT_THAT(refusal("capture start nope a.pcap"), HasSubstr("there is no stream `nope`"));
}

TEST_F(CarryOutTest, WaitsEndWithTimeSendersAndCaptures) {
    std::vector<double> waits;
    session_.pause = [&](double seconds) {
        waits.push_back(seconds);
        process_.now_.sends[0].state = "done";
        return true;
    };
    type("wait 250ms");
    EXPECT_EQ(waits, std::vector<double>{0.25});
    process_.now_.sends[0].state = "sending";
    type("wait send d0");
    EXPECT_EQ(waits.size(), 2U);
    // Nothing is captured: nothing to wait for.
    type("wait capture s0");
    EXPECT_EQ(waits.size(), 2U);
    process_.now_.captures.emplace_back().stream = "s0";
    session_.pause = [&](double) {
        process_.now_.captures[0].over = true;
        return true;
    };
    type("wait capture s0 1min");
    process_.now_.captures[0].over = false;
    session_.pause = [](double) { return true; };
    EXPECT_THAT(refusal("wait capture s0 20ms"),
                HasSubstr("the capture of stream s0 is not over after 20.0 ms"));
    session_.pause = [](double) { return false; };
    type("wait capture s0");
    EXPECT_THAT(refusal("wait send s0"), HasSubstr("there is no sender `s0`"));
    Context context{process_, grammar_, session_};
    for (const char* line : {"wait", "wait 0", "wait never", "wait send", "wait send d0 0"})
        EXPECT_THROW(carry_out(context, line), UsageError) << line;
}

TEST_F(CarryOutTest, ExitIsQuit) {
    type("exit");
    EXPECT_TRUE(session_.over);
    EXPECT_TRUE(process_.ended);
}

TEST_F(CarryOutTest, DummiesAreOfASender) {
    EXPECT_THAT(type("dummy d0"), HasSubstr("64 packets"));
    EXPECT_THAT(type("dummy d0 8"), HasSubstr("8 packets made of the next heap"));
    Context context{process_, grammar_, session_};
    EXPECT_THAT(refusal("dummy s0"), HasSubstr("there is no sender `s0`"));
    for (const char* line : {"dummy d0 0", "dummy d0 99999", "dummy d0 many"})
        EXPECT_THROW(carry_out(context, line), UsageError) << line;
}

TEST_F(CarryOutTest, StreamsComeChangeAndGo) {
    type("stream add s1 port p0 endpoints 239.9.0.0+1:7148 heaps.queue_depth 64");
    ASSERT_EQ(process_.plan_.receives.size(), 2u);
    EXPECT_EQ(process_.plan_.receives[1].queue_depth, 64u);
    type("stream set s1 poll busy heaps.queue_depth 128");
    EXPECT_EQ(process_.plan_.receives[1].queue_depth, 128u);
    type("endpoint add s1 239.9.0.9:7148");
    type("endpoint delete s1 239.9.0.0:7148");
    EXPECT_THAT(process_.plan_.receives[1].endpoint_texts, ElementsAre("239.9.0.1:7148", "239.9.0.9:7148"));
    type("stream stop s1");
    EXPECT_FALSE(process_.plan_.receives[1].enabled);
    type("stream start all");
    EXPECT_TRUE(process_.plan_.receives[1].enabled);
    type("stream delete s1");
    EXPECT_EQ(process_.plan_.receives.size(), 1u);
}

TEST_F(CarryOutTest, SendersToo) {
    type("send set d0 rate 1Gbps ttl 9");
    EXPECT_EQ(process_.plan_.sends[0].ttl, 9);
    type("send stop d0");
    EXPECT_FALSE(process_.plan_.sends[0].enabled);
    type("send add d1 port p0 endpoints 239.8.0.0:7148");
    type("send start all");
    EXPECT_TRUE(process_.plan_.sends[0].enabled);
    type("send delete d1");
    EXPECT_EQ(process_.plan_.sends.size(), 1u);
}

TEST_F(CarryOutTest, RefusedCommandsSayWhyAndChangeNothing) {
    EXPECT_THAT(refusal("stream add s0 port p0 endpoints 239.9.0.0:7148"), HasSubstr("already"));
    EXPECT_THAT(refusal("stream add s1 port p0 endpoints 239.1.0.2:7148"), HasSubstr("by stream `s0`"));
    EXPECT_THAT(refusal("endpoint delete s0 239.1.0.9:7148"), HasSubstr("no endpoint 239.1.0.9"));
    EXPECT_THAT(refusal("send set d0 ttl 300"), HasSubstr("300"));
    EXPECT_THAT(refusal("save config \"half"), HasSubstr("quote"));
    EXPECT_THAT(refusal("watch 1 stream delete s0"), HasSubstr("cannot be watched"));
    EXPECT_THAT(refusal("watch 1 show stream"), HasSubstr("it would never end here"));
    process_.refuses = "port p0: the device refuses the rule";
    EXPECT_THAT(refusal("endpoint add s0 239.9.0.9:7148"), HasSubstr("refuses the rule"));
}

TEST_F(CarryOutTest, WatchRepeatsUntilSomebodyIsThere) {
    int rounds = 0;
    session_.wait = [&](double seconds) {
        EXPECT_DOUBLE_EQ(seconds, 0.25);
        return ++rounds < 3;
    };
    type("watch 250ms show heap");
    EXPECT_EQ(rounds, 3);
    std::size_t heads = 0;
    for (std::size_t at = said_.find("after "); at != std::string::npos; at = said_.find("after ", at + 1))
        heads++;
    EXPECT_EQ(heads, 3u);
}

TEST_F(CarryOutTest, QuitLeavesTheSessionAndShutdownEndsTheProcess) {
    session_.attached = true;
    type("quit");
    EXPECT_TRUE(session_.over);
    EXPECT_FALSE(process_.ended);
    type("shutdown");
    EXPECT_TRUE(process_.ended);
    process_.ended = false;
    session_.attached = false;
    type("quit");
    EXPECT_TRUE(process_.ended);
}

TEST_F(CarryOutTest, OneCanQuitABusyProcess) {
    process_.busy = true;
    EXPECT_THAT(refusal("show config"), HasSubstr("busy"));
    type("quit");
    EXPECT_TRUE(process_.ended);
}

TEST_F(CarryOutTest, TheConfigurationSavedIsTheOneThatRuns) {
    const std::string directory = testing::TempDir();
    session_.directory = directory;
    type("stream set s0 heaps.queue_depth 77");
    const std::string name = "prompt-save-test.toml";
    const std::string path = directory + "/" + name;
    std::remove(path.c_str());
    type("save config " + name);
    EXPECT_EQ(config::load_file(path), process_.plan_);
    EXPECT_THAT(refusal("save config " + name), HasSubstr("the file exists"));
    type("stream set s0 heaps.queue_depth 78");
    type("save config " + name + " force");
    EXPECT_EQ(config::load_file(path), process_.plan_);
    std::remove(path.c_str());
}

TEST_F(CarryOutTest, LogLevels) {
    EXPECT_EQ(type("log level debug"), "the log level is debug\n");
    EXPECT_EQ(process_.level, "debug");
}

TEST_F(CarryOutTest, ClearingSaysSo) {
    EXPECT_THAT(type("clear stats"), HasSubstr("cleared"));
    EXPECT_THAT(type("clear undo"), HasSubstr("from the start again"));
}

TEST_F(CarryOutTest, CapturesAreShownByStream) {
    EXPECT_THAT(type("show capture"), HasSubstr("this run has no captures"));
    EXPECT_THAT(type("show capture s0"), HasSubstr("stream s0 has no captures"));
    stats::CaptureSnapshot c;
    c.stream = "s0";
    c.taken = 100;
    c.written = 90;
    c.dropped_full = 7;
    c.files = {{"a.pcap", 1, 90, 6000}};
    process_.now_.captures.push_back(c);
    c.stream = "gone";
    c.former = c.finished = true;
    process_.now_.captures.push_back(c);
    process_.recent_ = std::make_shared<stats::Snapshot>(process_.now_);
    for (const char* line : {"show capture", "show capture all"}) {
        EXPECT_THAT(type(line), HasSubstr("gone (removed)"));
        EXPECT_THAT(said_, HasSubstr("running"));
    }
    EXPECT_THAT(type("show capture s0"), Not(HasSubstr("gone")));
    EXPECT_THAT(said_, HasSubstr("a.pcap"));
    EXPECT_THAT(said_, HasSubstr("raise capture.buffer"));
    EXPECT_THAT(type("show capture gone"), HasSubstr("ended"));
    EXPECT_THAT(refusal("show capture none"), HasSubstr("there is no stream `none`"));
}

TEST_F(CarryOutTest, AdviceNamesKeysAndWhatIsStoppedSaysSo) {
    process_.now_.streams[0].state = "stopped";
    EXPECT_THAT(type("show stream"), HasSubstr("stopped"));
    EXPECT_THAT(said_, HasSubstr("larger than max_packet_size"));
    EXPECT_THAT(said_, Not(HasSubstr("--")));
    process_.now_.ports[0].state = "stopped";
    EXPECT_THAT(type("show port"), HasSubstr("stopped"));
    EXPECT_THAT(said_, Not(HasSubstr("--")));
}

/// Tests the words that may stand in place of an argument. None of them can be a name there.
TEST_F(CarryOutTest, NoPartIsCalledAsTheGrammarsWords) {
    EXPECT_THAT(refusal("stream add all port p0 endpoints 239.9.0.0:7148"),
                HasSubstr("`all` cannot be a name"));
    for (const PromptCommand& command : grammar_.commands())
        for (const char* argument : {"PORT", "STREAM", "SEND", "CAPTURED", "PART"}) {
            const std::string choice = std::string(argument) + "|";
            const std::size_t at = command.syntax.find(choice);
            EXPECT_TRUE(at == std::string::npos || command.syntax.substr(at).starts_with(choice + "all"))
                << command.syntax;
        }
}

TEST_F(CarryOutTest, AnEmptyListIsNoValue) {
    EXPECT_THAT(refusal("stream set s0 lcores \"\""), HasSubstr("`lcores` is empty"));
}

TEST_F(CarryOutTest, NumbersAreRefusedAlike) {
    for (const char* line : {"dummy d0 0", "dummy d0 99999", "dummy d0 many"})
        EXPECT_THAT(refusal(line), HasSubstr("is not a whole number from 1 to 4096")) << line;
}

}  // namespace
}  // namespace spead::app
