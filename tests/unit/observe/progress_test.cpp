// SPDX-License-Identifier: BSD-3-Clause
#include "observe/progress.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/line_output.hpp"
#include "base/log.hpp"
#include "tests/unit/observe/snapshots.hpp"

namespace spead::observe {
namespace {

stats::Snapshot at(double time, std::uint64_t bytes, std::uint64_t packets, std::uint64_t heaps) {
    stats::Snapshot snapshot;
    snapshot.duration_s = time;
    snapshot.streams.resize(1);
    snapshot.streams[0].bytes = bytes;
    snapshot.streams[0].received = packets;
    snapshot.streams[0].heaps_ended[0] = heaps;
    return snapshot;
}

TEST(ProgressSample, AddsUpStreamsSendersAndPorts) {
    stats::Snapshot snapshot = test::numbered_snapshot();
    snapshot.streams.push_back(snapshot.streams[0]);
    snapshot.sends.push_back(snapshot.sends[0]);
    snapshot.ports.push_back(snapshot.ports[0]);
    const ProgressSample sample = progress_sample(snapshot);
    EXPECT_EQ(sample.time_s, 2.5);
    EXPECT_TRUE(sample.receives);
    EXPECT_TRUE(sample.sends);
    EXPECT_EQ(sample.rx_bytes, 200u);
    EXPECT_EQ(sample.rx_packets, 202u);
    EXPECT_EQ(sample.heaps_complete, 2 * 131u);
    EXPECT_EQ(sample.heaps_incomplete, 2 * (132u + 133 + 134));
    EXPECT_EQ(sample.heaps_dropped, 2 * 142u);
    EXPECT_EQ(sample.heaps_unwritten, 2 * 144u);
    EXPECT_EQ(sample.heaps_wrong, 2 * 154u);
    EXPECT_EQ(sample.missed, 2 * 315u);
    EXPECT_EQ(sample.tx_bytes, 2 * 203u);
    EXPECT_EQ(sample.tx_packets, 2 * 202u);
    EXPECT_EQ(sample.tx_heaps, 2 * 200u);
}

TEST(ProgressLine, TellsRatesBetweenTheSamplesAndCountsOfTheLast) {
    const ProgressSample from = progress_sample(at(10, 1000000000, 1000000, 50));
    const ProgressSample to = progress_sample(at(12, 3500000000, 3000000, 250));
    EXPECT_EQ(progress_line(from, to), "12.0 s | rx 10.0 Gb/s, 1.00 Mpps, 250 heaps");
}

TEST(ProgressLine, TellsLossesOnlyWhenThereAreSome) {
    ProgressSample to = progress_sample(at(1, 0, 0, 0));
    to.heaps_incomplete = 3;
    to.heaps_dropped = 4;
    to.heaps_unwritten = 6;
    to.heaps_wrong = 5;
    to.missed = 1234567;
    EXPECT_EQ(
        progress_line({}, to),
        "1.0 s | rx 0 b/s, 0 pps, 0 heaps, 3 incomplete, 4 dropped, 6 NOT WRITTEN, 5 WRONG, 1.23 M packets "
        "missed");
}

TEST(ProgressLine, TellsOfSendingWhenThereAreSenders) {
    ProgressSample to;
    to.time_s = 2;
    to.sends = true;
    to.tx_bytes = 2500000000;
    to.tx_packets = 2000000;
    to.tx_heaps = 600;
    EXPECT_EQ(progress_line({}, to), "2.0 s | tx 10.0 Gb/s, 1.00 Mpps, 600 heaps");
}

TEST(ProgressLine, TheFirstSampleAloneHasNoRate) {
    const ProgressSample only = progress_sample(at(1, 1000, 10, 1));
    EXPECT_EQ(progress_line(only, only), "1.0 s | rx 0 b/s, 0 pps, 1 heap");
}

/// Opens a pseudo terminal. A test can read here all that a program prints on it.
class Terminal {
  public:
    explicit Terminal(unsigned short columns) : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
        grantpt(master_);
        unlockpt(master_);
        winsize size{};
        size.ws_row = 24;
        size.ws_col = columns;
        ioctl(master_, TIOCSWINSZ, &size);
        const int slave = open(ptsname(master_), O_RDWR | O_NOCTTY);
        file_ = slave < 0 ? nullptr : fdopen(slave, "w");
    }
    ~Terminal() {
        if (file_ != nullptr)
            std::fclose(file_);
        close(master_);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    std::FILE* file() const { return file_; }

    std::string read() {
        fcntl(master_, F_SETFL, O_NONBLOCK);
        std::string text;
        char buffer[4096];
        for (ssize_t n = 0; (n = ::read(master_, buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<std::size_t>(n));
        return text;
    }

  private:
    int master_;
    std::FILE* file_ = nullptr;
};

TEST(Progress, WritesOverItsLineOnATerminal) {
    Terminal terminal(200);
    if (terminal.file() == nullptr)
        GTEST_SKIP() << "this machine gives no pseudo terminal";
    LineOutput out(fileno(terminal.file()));
    Progress progress(true, out);
    progress.update(at(1, 0, 0, 1000000));
    EXPECT_EQ(terminal.read(), "\r1.0 s | rx 0 b/s, 0 pps, 1.00 M heaps");
    progress.update(at(2, 125000000, 1000, 1));
    // Shorter than the line before: blanks cover its end.
    EXPECT_EQ(terminal.read(), "\r2.0 s | rx 1.00 Gb/s, 1.00 kpps, 1 heap");
    progress.update(at(100, 125000000, 1000, 1));
    EXPECT_EQ(terminal.read(), "\r100.0 s | rx 0 b/s, 0 pps, 1 heap      ");
    progress.finish();
    EXPECT_EQ(terminal.read(), "\r" + std::string(33, ' ') + "\r");
    progress.finish();
    EXPECT_EQ(terminal.read(), "");
}

TEST(Progress, LinesOfTheLogStandAboveIt) {
    Terminal terminal(200);
    if (terminal.file() == nullptr)
        GTEST_SKIP() << "this machine gives no pseudo terminal";
    LineOutput out(fileno(terminal.file()));
    Progress progress(true, out);
    log_warning(LogType::app, "before the first");
    EXPECT_EQ(terminal.read(), "spead.app: before the first\r\n\r");
    progress.update(at(1, 0, 0, 1));
    terminal.read();
    log_warning(LogType::app, "one");
    const std::string blank = "\r" + std::string(31, ' ') + "\r";
    EXPECT_EQ(terminal.read(), blank + "spead.app: one\r\n\r1.0 s | rx 0 b/s, 0 pps, 1 heap");
    progress.finish();
    terminal.read();
    log_warning(LogType::app, "after it");
    EXPECT_EQ(terminal.read(), "") << "where it went before";
}

TEST(Progress, RatesAreOfTheLastSecondNotOfTheWholeRun) {
    Terminal terminal(200);
    if (terminal.file() == nullptr)
        GTEST_SKIP() << "this machine gives no pseudo terminal";
    LineOutput out(fileno(terminal.file()));
    Progress progress(true, out);
    for (int i = 0; i <= 50; i++)
        progress.update(at(0.2 * i, 0, 0, 0));
    terminal.read();
    // A second at 1 Gb/s after ten idle ones.
    for (int i = 1; i <= 5; i++)
        progress.update(at(10 + 0.2 * i, static_cast<std::uint64_t>(i) * 25000000, 0, 0));
    const std::string text = terminal.read();
    EXPECT_NE(text.substr(text.rfind('\r')).find("1.00 Gb/s"), std::string::npos) << text;
}

TEST(Progress, NeverIsLongerThanTheTerminalIsWide) {
    Terminal terminal(20);
    if (terminal.file() == nullptr)
        GTEST_SKIP() << "this machine gives no pseudo terminal";
    LineOutput out(fileno(terminal.file()));
    Progress progress(true, out);
    progress.update(at(1, 0, 0, 1));
    EXPECT_EQ(terminal.read(), "\r1.0 s | rx 0 b/s, 0");
}

TEST(Progress, IsSilentWhenNotWanted) {
    Terminal terminal(200);
    if (terminal.file() == nullptr)
        GTEST_SKIP() << "this machine gives no pseudo terminal";
    LineOutput out(fileno(terminal.file()));
    Progress progress(false, out);
    progress.update(at(1, 0, 0, 1));
    progress.finish();
    EXPECT_EQ(terminal.read(), "");
}

TEST(Progress, IsSilentWhenItsOutputIsNoTerminal) {
    std::FILE* file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    {
        LineOutput out(fileno(file));
        Progress progress(true, out);
        progress.update(at(1, 0, 0, 1));
    }
    EXPECT_EQ(std::ftell(file), 0);
    std::fclose(file);
}

}  // namespace
}  // namespace spead::observe
