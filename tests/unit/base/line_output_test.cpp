// SPDX-License-Identifier: BSD-3-Clause
#include "base/line_output.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace spead {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Holds two ends: lines are written to one, and read from the other.
struct Ends {
    FileDescriptor writer;
    FileDescriptor reader;

    /// Returns the text that can be read now.
    std::string read_now() const {
        std::string text;
        std::array<char, 65536> part{};
        for (pollfd fd{reader.get(), POLLIN, 0}; poll(&fd, 1, 0) > 0 && (fd.revents & POLLIN) != 0;) {
            const ssize_t n = ::read(reader.get(), part.data(), part.size());
            if (n <= 0)
                break;
            text.append(part.data(), static_cast<std::size_t>(n));
        }
        return text;
    }
};

Ends make_pipe() {
    std::array<int, 2> fds{};
    EXPECT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
    return {FileDescriptor(fds[1]), FileDescriptor(fds[0])};
}

Ends make_sockets() {
    std::array<int, 2> fds{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
    return {FileDescriptor(fds[1]), FileDescriptor(fds[0])};
}

Ends make_terminal() {
    FileDescriptor master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    EXPECT_TRUE(master);
    EXPECT_EQ(grantpt(master.get()), 0);
    EXPECT_EQ(unlockpt(master.get()), 0);
    FileDescriptor terminal(open(ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    EXPECT_TRUE(terminal);
    return {std::move(terminal), std::move(master)};
}

std::string line(unsigned number) {
    return fmt::format("line {:06} {}\n", number, std::string(100, 'x'));
}

struct Made {
    const char* name;
    Ends (*make)();
};
class LineOutputTo : public testing::TestWithParam<Made> {};

INSTANTIATE_TEST_SUITE_P(Readers, LineOutputTo,
                         testing::Values(Made{"pipe", make_pipe}, Made{"socket", make_sockets},
                                         Made{"terminal", make_terminal}),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(LineOutputTo, AReaderThatReadsGetsALineAtOnce) {
    const Ends ends = GetParam().make();
    LineOutput out(ends.writer.get());
    out.put("one\n");
    EXPECT_THAT(ends.read_now(), StartsWith("one"));
    EXPECT_TRUE(out.flush());
}

TEST_P(LineOutputTo, NobodyReadsAndThenSomebodyDoes) {
    const Ends ends = GetParam().make();
    LineOutput out(ends.writer.get());
    // Returns at all: that is the test.
    constexpr unsigned kLines = 20'000;
    for (unsigned i = 0; i < kLines; i++)
        out.put(line(i));
    EXPECT_FALSE(out.flush());
    EXPECT_FALSE(out.finish(std::chrono::milliseconds(1)));
    std::string text;
    // A terminal hands on what it has been given in its own time.
    for (unsigned round = 0; round < 10'000 && text.find("missing here") == std::string::npos; round++) {
        text += ends.read_now();
        out.flush();
        std::this_thread::yield();
    }
    out.put(line(kLines));
    while (text.find(fmt::format("line {:06}", kLines)) == std::string::npos &&
           out.finish(LineOutput::kWindow)) {
        pollfd fd{ends.reader.get(), POLLIN, 0};
        ASSERT_GT(poll(&fd, 1, 30'000), 0)
            << text.substr(text.size() - std::min<std::size_t>(text.size(), 300));
        text += ends.read_now();
    }
    std::erase(text, '\r');
    // Whole lines from the first on, the note, and the last one.
    unsigned next = 0;
    std::size_t at = 0;
    for (std::string wanted = line(0); text.compare(at, wanted.size(), wanted) == 0; wanted = line(++next))
        at += wanted.size();
    EXPECT_GT(next, LineOutput::kMostKept / line(0).size() - 1);
    EXPECT_EQ(text.substr(at, text.find('\n', at) - at),
              fmt::format("({} lines are missing here: nobody read them in time)", kLines - next));
    EXPECT_THAT(text.substr(at), HasSubstr(line(kLines).substr(0, 50)));
}

TEST_P(LineOutputTo, AReaderThatReadsAllTheTimeMissesNothing) {
    Ends ends = GetParam().make();
    constexpr unsigned kLines = 20'000;
    std::string text;
    const std::string last = fmt::format("line {:06}", kLines - 1);
    std::thread reader([&] {
        pollfd fd{ends.reader.get(), POLLIN, 0};
        while (text.find(last, text.size() - std::min<std::size_t>(text.size(), 100'000)) ==
                   std::string::npos &&
               poll(&fd, 1, 30'000) > 0)
            text += ends.read_now();
    });
    LineOutput out(ends.writer.get());
    for (unsigned i = 0; i < kLines; i++) {
        out.put(line(i));
        // The reader keeps up, even on a slow machine.
        if (i % 100 == 0)
            out.finish(std::chrono::seconds(30));
    }
    EXPECT_TRUE(out.finish(std::chrono::seconds(30)));
    reader.join();
    std::erase(text, '\r');
    std::string wanted;
    for (unsigned i = 0; i < kLines; i++)
        wanted += line(i);
    EXPECT_TRUE(text.starts_with(wanted.substr(0, wanted.rfind("line"))))
        << text.size() << " of " << wanted.size();
}

TEST_P(LineOutputTo, AReaderThatGoesIsNotWaitedFor) {
    std::signal(SIGPIPE, SIG_IGN);
    Ends ends = GetParam().make();
    LineOutput out(ends.writer.get());
    for (unsigned i = 0; i < 20'000; i++)
        out.put(line(i));
    ends.reader = FileDescriptor();
    EXPECT_TRUE(out.finish(std::chrono::seconds(30)));
}

TEST(LineOutput, TextOfAnyLengthIsKeptWhereNothingElseIs) {
    const Ends ends = make_pipe();
    LineOutput out(ends.writer.get());
    const std::string text = std::string(1'000'000, 'y') + '\n';
    out.put(text);
    std::string got;
    while (got.size() < text.size()) {
        const std::string part = ends.read_now();
        ASSERT_FALSE(part.empty());
        got += part;
        out.flush();
    }
    EXPECT_TRUE(got == text);
}

TEST(LineOutput, LeavesTheOpenFileOfOthersAsItWas) {
    const Ends ends = make_pipe();
    LineOutput out(ends.writer.get());
    out.put("one\n");
    EXPECT_EQ(fcntl(ends.writer.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(LineOutput, FollowsItsNumberToAnotherFile) {
    const Ends first = make_pipe();
    const Ends second = make_pipe();
    LineOutput out(first.writer.get());
    out.put("one\n");
    ASSERT_GE(dup2(second.writer.get(), first.writer.get()), 0);
    out.put("two\n");
    EXPECT_EQ(first.read_now(), "one\n");
    EXPECT_EQ(second.read_now(), "two\n");
}

TEST(LineOutput, WritesAFileAtOnce) {
    std::FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    LineOutput out(fileno(file));
    for (unsigned i = 0; i < 10'000; i++)
        out.put(line(i));
    EXPECT_TRUE(out.flush());
    EXPECT_EQ(lseek(fileno(file), 0, SEEK_END), static_cast<off_t>(10'000 * line(0).size()));
    std::fclose(file);
}

}  // namespace
}  // namespace spead
