// SPDX-License-Identifier: BSD-3-Clause
#include "replay/loader.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/capture/records.hpp"
#include "tests/unit/wire/frames.hpp"

namespace spead::replay {
namespace {

using capture::test::Kept;
using capture::test::record;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kBase = 1'700'000'000'000'000'000;

class Loading : public testing::Test {
  protected:
    std::string write(const std::string& name, const std::vector<Kept>& records) {
        std::vector<std::byte> bytes;
        const auto head = capture::pcap_file_header(65535);
        bytes.insert(bytes.end(), head.begin(), head.end());
        for (const Kept& k : records)
            capture::test::append(bytes, k);
        std::ofstream(scratch.file(name), std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return scratch.file(name);
    }
    /// Reads one pass through windows of `window_bytes` bytes. Returns the times and bytes of the frames.
    static std::vector<std::pair<std::uint64_t, std::vector<std::uint8_t>>> pass(Loader& loader,
                                                                                 std::size_t window_bytes) {
        std::vector<std::byte> memory(window_bytes);
        CaptureWindow window;
        window.base = memory.data();
        window.capacity = window_bytes;
        std::vector<std::pair<std::uint64_t, std::vector<std::uint8_t>>> all;
        for (bool more = true; more;) {
            more = loader.fill(window);
            EXPECT_LE(window.used, window.capacity);
            for (const Frame& f : window.frames) {
                const auto* const at = reinterpret_cast<const std::uint8_t*>(window.base + f.offset);
                all.emplace_back(f.time_ns, std::vector<std::uint8_t>(at, at + f.length));
            }
        }
        return all;
    }
    static std::vector<std::uint64_t> times(Loader& loader) {
        std::vector<std::uint64_t> all;
        for (const auto& [time, bytes] : pass(loader, 1 << 20))
            all.push_back(time);
        return all;
    }

    spead::test::ScratchDirectory scratch;
};

TEST_F(Loading, GivesEveryFrameInOrderThroughWindowsOfAnySize) {
    std::vector<Kept> records;
    for (std::uint64_t i = 0; i < 2000; i++)
        records.push_back(record(i, 60 + i * 7 % 1400));
    const std::string file = write("a.pcap", records);
    for (const std::size_t bytes : {std::size_t{1500}, kLeastWindow, std::size_t{3} << 20}) {
        Loader loader({file}, Loader::Order::time, {}, 0, "test");
        for (int round = 0; round < 2; round++) {
            const auto all = pass(loader, bytes);
            ASSERT_EQ(all.size(), records.size());
            for (std::size_t i = 0; i < all.size(); i++) {
                ASSERT_EQ(all[i].second, records[i].bytes);
                ASSERT_EQ(all[i].first, i * 1000 + static_cast<std::uint64_t>(round) * loader.period_ns());
            }
            EXPECT_EQ(loader.period_ns(), 2000U * 1000);
            EXPECT_EQ(loader.counts().frames, records.size());
            loader.rewind();
        }
    }
}

/// Tests that frames take no more memory than their files. That bounds the memory of a run.
TEST_F(Loading, FramesFitMemoryOfTheSizeOfTheirFile) {
    for (const std::size_t length : {14U, 15U, 16U, 17U, 60U}) {
        std::vector<Kept> records;
        for (std::uint64_t i = 0; i < 10'000; i++)
            records.push_back(record(i, length));
        Loader loader({write("a.pcap", records)}, Loader::Order::time, {}, 0, "test");
        std::vector<std::byte> memory(loader.size());
        CaptureWindow window;
        window.base = memory.data();
        window.capacity = memory.size();
        EXPECT_FALSE(loader.fill(window)) << length;
        EXPECT_EQ(window.frames.size(), records.size());
    }
}

TEST_F(Loading, FilesOfOneCaptureAreMergedByTime) {
    const std::string a =
        write("a.pcap", {record(0, 60, kBase), record(3, 60, kBase + 30), record(4, 60, kBase + 40)});
    const std::string b =
        write("b.pcap", {record(1, 60, kBase + 10), record(2, 60, kBase + 20), record(5, 60, kBase + 50)});
    Loader loader({b, a}, Loader::Order::time, {}, 0, "test");
    const auto all = pass(loader, 1 << 20);
    ASSERT_EQ(all.size(), 6U);
    for (std::uint64_t i = 0; i < 6; i++) {
        EXPECT_EQ(all[i].first, i * 10);
        EXPECT_EQ(all[i].second, record(i, 60).bytes);
    }
}

TEST_F(Loading, FilesInSequenceGoOnAtThePaceOfTheLast) {
    const std::string a = write("a.pcap", {record(0, 60, kBase), record(1, 60, kBase + 30)});
    const std::string b = write("b.pcap", {record(0, 60, 77), record(1, 60, 87)});
    Loader loader({a, b}, Loader::Order::sequence, {}, 0, "test");
    EXPECT_THAT(times(loader), ElementsAre(0, 30, 60, 70));
}

TEST_F(Loading, AFileKeepsItsOrderWhenTimesGoBack) {
    const std::string a =
        write("a.pcap", {record(0, 60, kBase), record(1, 60, kBase + 90), record(2, 60, kBase + 50),
                         record(3, 60, kBase - 5), record(4, 60, kBase + 100)});
    for (const auto order : {Loader::Order::time, Loader::Order::sequence}) {
        Loader loader({a}, order, {}, 0, "test");
        for (int round = 0; round < 2; round++) {
            const auto all = pass(loader, 1 << 20);
            ASSERT_EQ(all.size(), 5U);
            const std::uint64_t begin = static_cast<std::uint64_t>(round) * loader.period_ns();
            const std::uint64_t expected[] = {0, 90, 90, 90, 100};
            for (std::uint64_t i = 0; i < 5; i++) {
                EXPECT_EQ(all[i].second, record(i, 60).bytes) << i;
                EXPECT_EQ(all[i].first, begin + expected[i]) << i;
            }
            loader.rewind();
        }
    }
}

TEST_F(Loading, AFileWhoseClockWasSetBackGoesOnAtItsPace) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const std::string a =
        write("a.pcap", {record(0, 60, kBase), record(1, 60, kBase + 40),
                         record(2, 60, kBase - 3600 * kSecond), record(3, 60, kBase - 3600 * kSecond + 30),
                         record(4, 60, kBase - 3600 * kSecond + 10), record(5, 60, 7), record(6, 60, 17)});
    Loader loader({a}, Loader::Order::time, {}, 0, "test");
    EXPECT_THAT(times(loader), ElementsAre(0, 40, 40, 70, 70, 70, 80));
    // A second is still what the lcores of a capture may be apart.
    const std::string b = write("b.pcap", {record(0, 60, kBase + kSecond), record(1, 60, kBase),
                                           record(2, 60, kBase + 9), record(3, 60, kBase + kSecond + 5)});
    Loader other({b}, Loader::Order::sequence, {}, 0, "test");
    EXPECT_THAT(times(other), ElementsAre(0, 0, 0, 5));
}

TEST_F(Loading, FilesWhoseTimesGoBackAreMergedByTime) {
    // Each file keeps its order; between files the times decide, as far as they are known to.
    const std::string a = write("a.pcap", {record(0, 60, kBase), record(3, 60, kBase + 30),
                                           record(4, 60, kBase + 5), record(6, 60, kBase + 50)});
    const std::string b =
        write("b.pcap", {record(1, 60, kBase + 10), record(2, 60, kBase + 20), record(5, 60, kBase + 40)});
    for (const std::vector<std::string>& files :
         {std::vector<std::string>{a, b}, std::vector<std::string>{b, a}}) {
        Loader loader(files, Loader::Order::time, {}, 0, "test");
        const auto all = pass(loader, 1 << 20);
        ASSERT_EQ(all.size(), 7U);
        const std::uint64_t expected[] = {0, 10, 20, 30, 30, 40, 50};
        for (std::uint64_t i = 0; i < 7; i++) {
            EXPECT_EQ(all[i].second, record(i, 60).bytes) << i;
            EXPECT_EQ(all[i].first, expected[i]) << i;
        }
    }
}

TEST_F(Loading, TimesThatCannotBeNeverGoBack) {
    std::vector<Kept> records;
    for (std::uint64_t i = 0; i < 50; i++)
        records.push_back(
            record(i, 60, i % 2 == 0 ? UINT32_MAX * std::uint64_t{1'000'000'000} + UINT32_MAX : 0));
    Loader loader({write("a.pcap", records)}, Loader::Order::time, {}, 0, "test");
    const auto all = pass(loader, 1 << 20);
    ASSERT_EQ(all.size(), records.size());
    for (std::size_t i = 0; i < all.size(); i++) {
        EXPECT_EQ(all[i].second, records[i].bytes) << i;
        EXPECT_TRUE(i == 0 || all[i].first >= all[i - 1].first) << i;
    }
}

TEST_F(Loading, EveryRecordThatIsNotSentIsCounted) {
    Kept cut = record(1, 60);
    cut.on_wire = 1500;
    const std::string a =
        write("a.pcap", {record(0, 60), cut, record(2, 13), record(3, 0), record(4, 1515), record(5, 1514)});
    Loader loader({a}, Loader::Order::time, {}, 1514, "test");
    EXPECT_EQ(pass(loader, 1 << 20).size(), 2U);
    EXPECT_EQ(loader.counts(), (LoadCounts{6, 2, 1, 2, 1, 0}));
    RewriteRules rules;
    rules.ttl = 1;
    Loader other({a}, Loader::Order::time, rules, 1514, "test");
    EXPECT_EQ(pass(other, 1 << 20).size(), 0U);
    EXPECT_EQ(other.counts(), (LoadCounts{6, 0, 1, 2, 1, 2}));
}

TEST_F(Loading, ADestinationThatNoDatagramHadIsTold) {
    Kept datagram = record(0, 60);
    datagram.bytes = wire::test::Frame{}.build();
    datagram.on_wire = static_cast<std::uint32_t>(datagram.bytes.size());
    wire::UdpView udp{};
    ASSERT_EQ(
        wire::parse_udp(datagram.bytes.data(), datagram.bytes.size(), datagram.bytes.size(), false, udp),
        PortOutcome::stream);
    RewriteRules rules;
    rules.map[{udp.destination(), udp.dst_port}] = {Ipv4{0xEF000001}, 7148};
    rules.map[{Ipv4{0xEF090909}, 7148}] = {Ipv4{0xEF000002}, 7148};
    Loader loader({write("a.pcap", {datagram})}, Loader::Order::time, rules, 0, "test");
    EXPECT_EQ(loader.unmatched(), std::nullopt) << "nothing is known yet";
    EXPECT_EQ(pass(loader, 1 << 20).size(), 1U);
    EXPECT_THAT(loader.unmatched().value_or(""), HasSubstr("no packet went to 239.9.9.9:7148, so nothing"));
}

TEST_F(Loading, AFileThatIsNotWholeEndsEarlyAndTheOthersGoOn) {
    const std::string a = write("a.pcap", {record(0, 60, kBase), record(2, 60, kBase + 20)});
    const std::string b = write("b.pcap", {record(1, 60, kBase + 10), record(3, 60, kBase + 30)});
    std::filesystem::resize_file(a, std::filesystem::file_size(a) - 1);
    Loader loader({a, b}, Loader::Order::time, {}, 0, "test");
    for (int round = 0; round < 2; round++) {
        EXPECT_EQ(pass(loader, 1 << 20).size(), 3U);
        ASSERT_EQ(loader.warnings().size(), 1U);
        EXPECT_THAT(
            loader.warnings()[0],
            HasSubstr("a.pcap is truncated in record 2 at byte 100: the 1 whole record before it is sent"));
        loader.rewind();
    }
}

TEST_F(Loading, EndsAtOnceWhenItIsStopped) {
    Loader loader({write("a.pcap", {record(0, 60), record(1, 60)})}, Loader::Order::time, {}, 0, "test");
    std::atomic<bool> stop{false};
    loader.stop_with(stop);
    EXPECT_EQ(pass(loader, 1 << 20).size(), 2U);
    loader.rewind();
    stop = true;
    EXPECT_TRUE(pass(loader, 1 << 20).empty());
}

TEST_F(Loading, NothingToSendIsAPassOfNoTime) {
    Loader loader({write("a.pcap", {})}, Loader::Order::time, {}, 0, "test");
    EXPECT_TRUE(pass(loader, 1 << 20).empty());
    EXPECT_EQ(loader.period_ns(), 0U);
    EXPECT_THROW(Loader({scratch.file("none")}, Loader::Order::time, {}, 0, "test"), Error);
}

}  // namespace
}  // namespace spead::replay
