// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/thread_activity.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "tests/support/scratch_directory.hpp"

namespace spead::runtime {
namespace {

using namespace std::chrono_literals;
using port::Sysfs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Makes up a /proc.
class Proc {
  public:
    void thread(const std::string& process, const std::string& thread, const std::string& name, char state,
                unsigned cpu) {
        // Fields 4 to 38 are other numbers.
        std::string fields;
        for (int i = 4; i <= 38; i++)
            fields += fmt::format(" {}", 1000 + i);
        file(process, thread, "stat", fmt::format("{} ({}) {}{} {} 0 0\n", thread, name, state, fields, cpu));
    }
    void file(const std::string& process, const std::string& thread, const std::string& name,
              const std::string& text) {
        const auto directory = tree_.path() / "proc" / process / "task" / thread;
        std::filesystem::create_directories(directory);
        std::ofstream(directory / name) << text;
    }
    Sysfs files() const { return Sysfs(tree_.path()); }

  private:
    spead::test::ScratchDirectory tree_;
};

TEST(ThreadFacts, AreReadFromProc) {
    Proc proc;
    proc.thread("self", "12", "rte-worker-2", 'S', 3);
    proc.file("self", "12", "schedstat", "177143337 18172070 468\n");
    proc.file("self", "12", "wchan", "pipe_write");
    const auto facts = thread_facts(proc.files(), 12);
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->state, 'S');
    EXPECT_EQ(facts->cpu, 3U);
    EXPECT_EQ(facts->ran_ns, 177143337U);
    EXPECT_EQ(facts->sleeps_in, "pipe_write");
}

TEST(ThreadFacts, DoWithWhatTheKernelTells) {
    Proc proc;
    proc.thread("self", "12", "a) R 1 (b", 'R', 1);
    proc.file("self", "12", "wchan", "0");
    const auto facts = thread_facts(proc.files(), 12);
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->state, 'R');
    EXPECT_EQ(facts->cpu, 1U);
    EXPECT_EQ(facts->ran_ns, 0U);
    EXPECT_THAT(facts->sleeps_in, IsEmpty());
}

TEST(ThreadFacts, AreNoneOfAThreadThatIsNotThere) {
    Proc proc;
    EXPECT_FALSE(thread_facts(proc.files(), 12));
    for (const char* const text : {"", "12", "12 (", "12 )(", "12 (x)", "12 (x) R 1 2 3"}) {
        proc.file("self", "12", "stat", text);
        EXPECT_FALSE(thread_facts(proc.files(), 12)) << text;
    }
}

TEST(ThreadFacts, AreThoseOfThisMachine) {
    const auto facts = thread_facts(Sysfs(), gettid());
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->state, 'R');
}

TEST(InvoluntarySwitches, AreTheSumOfAllThreads) {
    Proc proc;
    EXPECT_EQ(involuntary_switches(proc.files()), 0U);
    proc.file("self", "12", "status",
              "Name:\tmain\nvoluntary_ctxt_switches:\t70\nnonvoluntary_ctxt_switches:\t5\n");
    proc.file("self", "13", "status",
              "Name:\tworker\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t7");
    proc.file("self", "14", "status", "nonvoluntary_ctxt_switches:");
    proc.file("self", "15", "stat", "ended");
    EXPECT_EQ(involuntary_switches(proc.files()), 12U);
}

TEST(OthersOn, AreThoseThatHaveTheCpuOrWaitForIt) {
    Proc proc;
    proc.thread("10", "10", "main", 'R', 3);
    proc.thread("10", "12", "rte-worker-2", 'R', 3);
    proc.thread("20", "20", "stress-ng", 'R', 3);
    proc.thread("21", "21", "elsewhere", 'R', 2);
    proc.thread("22", "22", "asleep", 'S', 3);
    proc.thread("23", "23", "e\x1b[2Jvil", 'R', 3);
    proc.file("bus", "1", "stat", "no process");
    EXPECT_THAT(others_on(proc.files(), 3, 12),
                ElementsAre("main (pid 10)", "stress-ng (pid 20)", "e\\x1b[2Jvil (pid 23)"));
    EXPECT_THAT(others_on(proc.files(), 7, 12), IsEmpty());
}

/// Tests bytes of C1, which terminals heed as they heed escapes. JSON takes no byte that is no character.
TEST(OthersOn, NamesAreOfWholeCharactersThatTerminalsDoNotHeed) {
    Proc proc;
    proc.thread("20", "20",
                "\xc2\x9b"
                "2J",
                'R', 3);
    proc.thread("21", "21",
                "\x9b"
                "31m",
                'R', 3);
    proc.thread("22", "22",
                "\xc3\xbc"
                "ber",
                'R', 3);
    EXPECT_THAT(others_on(proc.files(), 3, 12), ElementsAre("\\xc2\\x9b2J (pid 20)", "\\x9b31m (pid 21)",
                                                            "\xc3\xbc"
                                                            "ber (pid 22)"));
}

TEST(OthersOn, AreNotListedWithoutEnd) {
    Proc proc;
    for (int i = 0; i < 10; i++)
        proc.thread("10", std::to_string(10 + i), "busy", 'R', 0);
    EXPECT_THAT(others_on(proc.files(), 0, 1), SizeIs(3));
}

ThreadFacts facts(char state, std::chrono::nanoseconds ran, const std::string& sleeps_in = {}) {
    return {state, 3, static_cast<std::uint64_t>(ran.count()), sleeps_in};
}

TEST(Activity, TellsWhoHasTheCpu) {
    EXPECT_EQ(activity(facts('R', 5s), facts('R', 5010ms), 1s, {"stress-ng (pid 7)"}),
              "it waits for CPU 3, which stress-ng (pid 7) has");
    EXPECT_EQ(activity(facts('R', 5s), facts('R', 5s), 1s, {"a (pid 1)", "b (pid 2)"}),
              "it waits for CPU 3, which a (pid 1), b (pid 2) have");
}

TEST(Activity, TellsThatItRuns) {
    EXPECT_EQ(activity(facts('R', 5s), facts('R', 5900ms), 1s, {"stress-ng (pid 7)"}),
              "it runs on CPU 3, and does not return to its loop");
    EXPECT_THAT(activity(facts('R', 5s), facts('R', 5s), 1s, {}), HasSubstr("it runs"))
        << "the kernel counts late where it has no tick";
}

TEST(Activity, TellsThatItSleepsOrIsStopped) {
    EXPECT_EQ(activity(facts('S', 5s), facts('S', 5s, "pipe_write"), 1s, {}),
              "it sleeps in the kernel (pipe_write)");
    EXPECT_EQ(activity(facts('R', 5s), facts('D', 5s), 1s, {"x (pid 1)"}), "it sleeps in the kernel");
    EXPECT_THAT(activity(facts('R', 5s), facts('t', 5s), 1s, {}), HasSubstr("stopped"));
    EXPECT_THAT(activity(facts('R', 5s), facts('T', 5s), 1s, {}), HasSubstr("stopped"));
}

}  // namespace
}  // namespace spead::runtime
