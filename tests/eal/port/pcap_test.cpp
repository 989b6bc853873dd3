// SPDX-License-Identifier: BSD-3-Clause
#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/eal/port/port_rig.hpp"
#include "tests/support/pcap_writer.hpp"

namespace spead::port::test {
namespace {

using spead::test::PcapFormat;
using spead::test::PcapWriter;
using spead::test::read_pcap;
using spead::test::write_file;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PcapPort : public testing::Test {
  protected:
    /// Writes `count` frames of growing length, from 60 bytes on.
    std::string write_capture(std::uint32_t count, std::size_t step = 1, const PcapFormat& format = {}) {
        const auto path = directory_.file("in.pcap");
        PcapWriter file(path, format);
        for (std::uint32_t i = 0; i < count; ++i) {
            file.record(frame(i, 60 + i * step));
        }
        return path;
    }
    /// Reads all there is of a finite port and checks it against write_capture's frames.
    static void expect_frames(Port& port, std::uint32_t count, std::size_t step = 1) {
        EXPECT_EQ(port.exhausted(), count == 0);
        const auto packets = receive(port.rx_queue(0), count);
        ASSERT_EQ(packets.size(), count);
        for (std::uint32_t i = 0; i < count; ++i) {
            ASSERT_EQ(packets[i], frame(i, 60 + i * step)) << i;
        }
        EXPECT_TRUE(port.exhausted());
        EXPECT_TRUE(receive(port.rx_queue(0), 1).empty());
    }

    Directory directory_;
};

TEST_F(PcapPort, DeliversEveryRecordAndKnowsTheEnd) {
    auto port = open_port(request("net_pcap0,rx_pcap=" + write_capture(1000), 1, 0));
    EXPECT_TRUE(port->capabilities().finite);
    EXPECT_TRUE(port->capabilities().lossless);
    EXPECT_THAT(port->source_problems(), IsEmpty());
    EXPECT_THAT(port->remarks(), IsEmpty());
    port->start();
    expect_frames(*port, 1000);
    const auto nic = port->nic();
    EXPECT_EQ(nic.missed + nic.no_mbuf + nic.errors, 0U);
    port->stop();
    EXPECT_EQ(rte_mempool_full(port->rx_pool(0)), 1);
}

TEST_F(PcapPort, ReplaysFromTheBeginningAfterStopAndStart) {
    auto port = open_port(request("net_pcap0,rx_pcap=" + write_capture(50), 1, 0));
    port->start();
    EXPECT_EQ(receive(port->rx_queue(0), 32).size(), 32U);
    EXPECT_FALSE(port->exhausted());
    port->stop();
    port->start();
    expect_frames(*port, 50);
}

TEST_F(PcapPort, ReadsSwappedAndNanosecondFiles) {
    PcapFormat format;
    format.swapped = true;
    format.magic = 0xA1B23C4D;
    auto port = open_port(request("net_pcap0,rx_pcap=" + write_capture(20, 1, format), 1, 0));
    port->start();
    expect_frames(*port, 20);
}

TEST_F(PcapPort, JumboFramesArriveWhole) {
    auto port = open_port(request("net_pcap0,rx_pcap=" + write_capture(100, 90), 1, 0, 9000));
    port->start();
    expect_frames(*port, 100, 90);
}

TEST_F(PcapPort, FramesAboveTheExpectedSizeArriveAsChains) {
    auto port = open_port(request("net_pcap0,rx_pcap=" + write_capture(100, 90), 1, 0, 1472));
    port->start();
    EXPECT_LT(port->rx_sizes().data_room, 2048U);
    expect_frames(*port, 100, 90);
}

TEST_F(PcapPort, LosesNothingWhenTheConsumerHoldsEveryMbuf) {
    constexpr std::uint32_t count = 3000;
    auto port = open_port(request("net_pcap0,rx_pcap=" + write_capture(count), 1, 0, 9000));
    port->start();
    const auto queue = port->rx_queue(0);
    std::vector<std::vector<std::uint8_t>> packets;
    std::vector<rte_mbuf*> held;
    while (packets.size() < count) {
        std::array<rte_mbuf*, 64> mbufs{};
        const auto n = queue.rx_burst(mbufs.data(), mbufs.size());
        for (std::uint16_t i = 0; i < n; ++i) {
            packets.push_back(bytes_of(mbufs[i]));
            held.push_back(mbufs[i]);
        }
        if (n == 0) {
            ASSERT_FALSE(held.empty()) << "neither packets nor held mbufs after " << packets.size();
            rte_pktmbuf_free_bulk(held.data(), static_cast<unsigned>(held.size()));
            held.clear();
        }
    }
    rte_pktmbuf_free_bulk(held.data(), static_cast<unsigned>(held.size()));
    for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_EQ(packets[i], frame(i, 60 + i)) << i;
    }
    EXPECT_EQ(port->nic().no_mbuf, 0U);
}

TEST_F(PcapPort, ATruncatedFileIsReplayedUpToItsLastWholeRecordAndRemarked) {
    const auto path = write_capture(10);
    const auto size = std::filesystem::file_size(path);
    std::filesystem::resize_file(path, size - 1);
    auto port = open_port(request("net_pcap0,rx_pcap=" + path, 1, 0));
    EXPECT_THAT(port->remarks(), ElementsAre("port p0: " + path + " is truncated in record 10 at byte " +
                                             std::to_string(size - 16 - 69) +
                                             ": the 9 whole records before it will be replayed"));
    EXPECT_THAT(port->source_problems(),
                ElementsAre("port p0: its source " + path +
                            " is truncated: it ends inside record 10; copy or record it again"));
    port->start();
    expect_frames(*port, 9);
}

TEST_F(PcapPort, AFileThatShrinksAfterItWasCountedEndsTheRunInsteadOfHangingIt) {
    const auto path = write_capture(1000);
    auto port = open_port(request("net_pcap0,rx_pcap=" + path, 1, 0));
    // libpcap has read ahead a little.
    std::filesystem::resize_file(path, 65536);
    port->start();
    EXPECT_LT(receive(port->rx_queue(0), 1000).size(), 900U);
    EXPECT_TRUE(port->exhausted());
    EXPECT_THAT(port->source_problems(),
                ElementsAre(AllOf(HasSubstr(path), HasSubstr("it ended before its 1000 records"))));
    port->stop();
    EXPECT_THAT(port->remarks(), ElementsAre(HasSubstr("ended before its 1000 records were delivered")));
}

TEST_F(PcapPort, AnEmptyCaptureIsExhaustedAtOnce) {
    auto port = open_port(request("net_pcap0,rx_pcap=" + write_capture(0), 1, 0));
    port->start();
    expect_frames(*port, 0);
    EXPECT_THAT(port->remarks(), ElementsAre(HasSubstr("holds no packets")));
}

TEST_F(PcapPort, RecordsCutByTheSnapLengthAreRemarked) {
    const auto path = directory_.file("in.pcap");
    {
        PcapWriter file(path);
        file.record(frame(0, 60));
        file.record(frame(1, 96), 1514);
    }
    EXPECT_THAT(plan(request("net_pcap0,rx_pcap=" + path, 1, 0)).remarks,
                ElementsAre(HasSubstr("1 of the 2 records of " + path + " holds less than was on the wire")));
}

TEST_F(PcapPort, SeveralFilesOnOneQueueAreAllRead) {
    const auto first = write_capture(100);
    const auto second = directory_.file("second.pcap");
    {
        PcapWriter file(second);
        for (std::uint32_t i = 0; i < 30; ++i) {
            file.record(frame(i, 100));
        }
    }
    auto port = open_port(request("net_pcap0,rx_pcap=" + first + ",rx_pcap=" + second, 1, 0));
    port->start();
    EXPECT_EQ(receive(port->rx_queue(0), 130).size(), 130U);
    EXPECT_TRUE(port->exhausted());
}

TEST_F(PcapPort, InfiniteReceptionRepeatsTheFileAndNeverEnds) {
    auto port = open_port(request("net_pcap0,rx_pcap=" + write_capture(10, 100) + ",infinite_rx=1", 1, 0));
    EXPECT_FALSE(port->capabilities().finite);
    port->start();
    const auto packets = receive(port->rx_queue(0), 1000);
    ASSERT_GE(packets.size(), 1000U);
    EXPECT_EQ(packets[995], frame(5, 560));
    EXPECT_FALSE(port->exhausted());
}

TEST_F(PcapPort, WritesWhatIsSentChainsIncludedAndVerifiesTheFile) {
    const Pool pool;
    const auto path = directory_.file("out.pcap");
    auto port = open_port(request("net_pcap0,tx_pcap=" + path, 0, 1, 9000));
    port->start();
    EXPECT_TRUE(port->output_problem().empty());
    for (std::uint32_t i = 0; i < 50; ++i) {
        ASSERT_TRUE(send(port->tx_queue(0), pool.make_chain(frame(i, 60 + i * 180), 700)));
    }
    ExternalBuffer payload(frame(3, 5000));
    rte_mbuf* packet = pool.make(frame(1, 42));
    rte_pktmbuf_chain(packet, payload.attach(pool));
    ASSERT_TRUE(send(port->tx_queue(0), packet));
    EXPECT_EQ(payload.released(), 1);
    EXPECT_TRUE(port->output_problem().empty());
    port->stop();
    port->verify_output();
    port->close();
    port->verify_output();
    const auto records = read_pcap(path);
    ASSERT_EQ(records.size(), 51U);
    for (std::uint32_t i = 0; i < 50; ++i) {
        EXPECT_EQ(records[i], frame(i, 60 + i * 180));
    }
    EXPECT_EQ(records[50].size(), 5042U);
}

TEST_F(PcapPort, TheFileIsWrittenAnewAfterStopAndStart) {
    const Pool pool;
    const auto path = directory_.file("out.pcap");
    auto port = open_port(request("net_pcap0,tx_pcap=" + path, 0, 1));
    for (std::uint32_t round = 0; round < 3; ++round) {
        port->start();
        ASSERT_TRUE(send(port->tx_queue(0), pool.make(frame(round, 100 - round))));
        port->stop();
        port->verify_output();
        EXPECT_THAT(read_pcap(path), ElementsAre(frame(round, 100 - round)));
    }
}

/// Makes the file system full for this process.
class FileSizeLimit {
  public:
    explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit limit = before_;
        limit.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FileSizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

  private:
    void (*handler_)(int);
    rlimit before_{};
};

TEST_F(PcapPort, AFullDiskIsNoticedAlthoughThePmdCountsEverythingAsSent) {
    const Pool pool;
    const auto path = directory_.file("out.pcap");
    auto port = open_port(request("net_pcap0,tx_pcap=" + path, 0, 1));
    port->start();
    {
        const FileSizeLimit full(4096);
        for (std::uint32_t i = 0; i < 100; ++i) {
            ASSERT_TRUE(send(port->tx_queue(0), pool.make(frame(i, 1000))));
        }
        EXPECT_EQ(port->nic().errors, 0U) << "the PMD notices after all";
        const std::string problem = "the capture file " + path +
                                    " holds only 4096 of the 101624 bytes (100 packets) written to it; "
                                    "is the file system full?";
        EXPECT_EQ(port->output_problem(), problem);
        port->stop();
        EXPECT_EQ(error_of([&] { port->verify_output(); }), "port p0: " + problem);
        port->close();
        EXPECT_EQ(port->output_problem(), problem);
    }
}

TEST_F(PcapPort, SendsWhileItReceives) {
    const Pool pool;
    const auto out = directory_.file("out.pcap");
    auto port = open_port(request("net_pcap0,rx_pcap=" + write_capture(10) + ",tx_pcap=" + out, 1, 1));
    port->start();
    ASSERT_TRUE(send(port->tx_queue(0), pool.make(frame(9, 99))));
    expect_frames(*port, 10);
    port->close();
    EXPECT_THAT(read_pcap(out), ElementsAre(frame(9, 99)));
}

TEST_F(PcapPort, ReceivingWithoutAFileReceivesNothingAndSendingWithoutAFileDrops) {
    const Pool pool;
    auto writer = open_port(request("net_pcap0,tx_pcap=" + directory_.file("out.pcap"), 1, 1));
    EXPECT_FALSE(writer->capabilities().finite);
    EXPECT_THAT(writer->remarks(), ElementsAre(HasSubstr("has no rx_pcap: nothing is received")));
    writer->start();
    EXPECT_TRUE(receive(writer->rx_queue(0), 1).empty());
    EXPECT_FALSE(writer->exhausted());

    auto reader = open_port(request("net_pcap1,rx_pcap=" + write_capture(3), 1, 1));
    EXPECT_THAT(reader->remarks(), ElementsAre(HasSubstr("has no tx_pcap: sent packets are dropped")));
    reader->start();
    ASSERT_TRUE(send(reader->tx_queue(0), pool.make(frame(1, 64))));
    EXPECT_TRUE(pool.full());
    reader->verify_output();
    expect_frames(*reader, 3);
}

TEST_F(PcapPort, PlanningChangesNothing) {
    const auto out = directory_.file("out.pcap");
    write_file(out, {1, 2, 3});
    (void)plan(request("net_pcap0,tx_pcap=" + out, 0, 1));
    EXPECT_EQ(std::filesystem::file_size(out), 3U);
    (void)plan(request("net_pcap0,tx_pcap=" + directory_.file("new.pcap"), 0, 1));
    EXPECT_FALSE(std::filesystem::exists(directory_.file("new.pcap")));
}

TEST_F(PcapPort, WrongInputsAreRefusedWithTheReason) {
    const auto refuse = [](const std::string& device, std::uint16_t rx = 1, std::uint16_t tx = 0) {
        return error_of([&] { open_port(request(device, rx, tx)); });
    };
    const auto in = write_capture(3);
    EXPECT_EQ(refuse("net_pcap0,rx_pcap=/nowhere/in.pcap"),
              "port p0: cannot open the capture file /nowhere/in.pcap: No such file or directory");
    EXPECT_THAT(refuse("net_pcap0"), HasSubstr("needs rx_pcap=FILE to receive or tx_pcap=FILE to send"));
    EXPECT_THAT(refuse("net_pcap0,rx_file=x"),
                HasSubstr("has no parameter \"rx_file\"; it has rx_pcap, tx_pcap"));
    EXPECT_THAT(refuse("net_pcap0,rx_pcap=a,b.pcap"), HasSubstr("cannot hold a comma"));
    EXPECT_THAT(refuse("net_pcap0,rx_pcap=" + in + ",rx_iface=eth0"), HasSubstr("either files"));
    EXPECT_THAT(refuse("net_pcap0,rx_pcap=" + in + ",infinite_rx=yes"),
                HasSubstr("not a number from 0 to 1"));
    EXPECT_THAT(refuse("net_pcap0,rx_pcap=" + in, 2), HasSubstr("2 receive queues need 2 rx_pcap files"));
    EXPECT_THAT(refuse("net_pcap0,rx_pcap=" + in + ",tx_pcap=" + in, 1, 1),
                HasSubstr("is both read and written"));
    EXPECT_EQ(read_pcap(in).size(), 3U) << "the refusal must come before the file is overwritten";
    write_file(in, {});
    EXPECT_THAT(refuse("net_pcap0,rx_pcap=" + in), HasSubstr("is empty"));
    PcapFormat cooked;
    cooked.link_type = 113;
    write_capture(3, 1, cooked);
    EXPECT_THAT(refuse("net_pcap0,rx_pcap=" + in), HasSubstr("link type is 113"));
    {
        PcapWriter file(in);
        file.record(frame(0, 70000));
    }
    EXPECT_THAT(refuse("net_pcap0,rx_pcap=" + in), HasSubstr("record 1 of " + in + " has 70000 bytes"));
    { PcapWriter file(in); }
    EXPECT_THAT(refuse("net_pcap0,rx_pcap=" + in + ",infinite_rx=1"), HasSubstr("nothing to repeat"));
}

TEST_F(PcapPort, WrongOutputsAreRefusedWithTheReason) {
    const auto refuse = [](const std::string& device, std::uint16_t tx = 1, std::uint32_t packet = 1472) {
        return error_of([&] { open_port(request(device, 0, tx, packet)); });
    };
    EXPECT_EQ(refuse("net_pcap0,tx_pcap=/nowhere/out.pcap"),
              "port p0: cannot write the capture file /nowhere/out.pcap: there is no directory /nowhere");
    EXPECT_THAT(refuse("net_pcap0,tx_pcap=" + directory_.file("")), HasSubstr("it is a directory"));
    const auto out = directory_.file("out.pcap");
    EXPECT_THAT(refuse("net_pcap0,tx_pcap=" + out, 2), HasSubstr("2 transmit queues need 2 tx_pcap files"));
    EXPECT_THAT(refuse("net_pcap0,tx_pcap=" + out + ",tx_pcap=" + out, 2), HasSubstr("is named twice"));
    EXPECT_THAT(
        refuse("net_pcap0,tx_pcap=" + out, 1, 16200),
        HasSubstr(
            "frames of 16242 bytes (16200 of UDP payload) are too large: net_pcap writes frames of at most "
            "16128 bytes"));
    EXPECT_THAT(refuse("net_pcap0,tx_pcap=-"), HasSubstr("name a file"));
    if (::geteuid() != 0) {
        ::chmod(directory_.file("").c_str(), 0500);
        EXPECT_THAT(refuse("net_pcap0,tx_pcap=" + out), HasSubstr("is not writable"));
        ::chmod(directory_.file("").c_str(), 0700);
    }
}

}  // namespace
}  // namespace spead::port::test
