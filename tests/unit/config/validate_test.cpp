// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/printable.hpp"
#include "config/config.hpp"
#include "tests/support/refusal.hpp"
#include "tests/unit/config/plans.hpp"

namespace spead::config {
namespace {

using runtime::Plan;
using test::receive_plan;
using test::send_plan;
using test::valid_plan;

/// Changes a valid plan; validate must refuse it at `path` with a text that holds `parts`.
template <typename Change>
void expect_refused(Change change, const std::string& path, std::initializer_list<std::string_view> parts) {
    Plan plan = valid_plan();
    change(plan);
    const Locator locate = [](std::string_view where) { return "<" + std::string(where) + ">"; };
    const std::string text = test::usage_error_of([&] { validate(plan, locate); });
    EXPECT_EQ(text.substr(0, text.find('>') + 1), "<" + path + ">") << text;
    for (const std::string_view part : parts)
        EXPECT_NE(text.find(part), std::string::npos) << "`" << part << "` is not in: " << text;
}

template <typename Change>
void expect_accepted(Change change) {
    Plan plan = valid_plan();
    change(plan);
    try {
        validate(plan);
    } catch (const Error& error) {
        ADD_FAILURE() << error.what();
    }
}

TEST(Validate, AcceptsAValidPlan) {
    expect_accepted([](Plan&) {});
}

TEST(Validate, WorksWithoutALocator) {
    Plan plan = valid_plan();
    plan.sends[0].ttl = 0;
    EXPECT_EQ(test::usage_error_of([&] { validate(plan); }), "`ttl` is 0; give 1 to 255");
}

TEST(Validate, NamesAreShortAndPlain) {
    for (const char* name : {"", "a b", "a/b", "-a", ".a", "_a", "näme", "a\n"})
        expect_refused([&](Plan& p) { p.receives[0].name = name; }, "receive[0].name",
                       {"`" + printable(name) + "` is not a name", "letters"});
    expect_refused([](Plan& p) { p.receives[0].name = "all"; }, "receive[0].name",
                   {"`all` cannot be a name"});
    expect_refused([](Plan& p) { p.sends[0].name = "all"; }, "send[0].name", {"`all`"});
    expect_refused([](Plan& p) { p.ports[0].name = "all"; }, "port[0].name", {"`all`"});
    expect_refused([](Plan& p) { p.ports[0].name = "xstats"; }, "port[0].name", {"`xstats`"});
    expect_refused([](Plan& p) { p.runtime.name = "../x"; }, "runtime.name", {"`../x`"});
    expect_refused([](Plan& p) { p.sends[0].name = ""; }, "send[0].name", {"not a name"});
    expect_refused([](Plan& p) { p.ports[0].name = std::string(64, 'a'); }, "port[0].name", {"1 to 63"});
    expect_accepted([](Plan& p) { p.receives[0].name = "F-engine_0.b"; });
    expect_accepted([](Plan& p) { p.receives[0].name = std::string(63, 'a'); });
}

TEST(Validate, HeapsInChunksDoNotEndARun) {
    const auto with_chunks = [](Plan& p) {
        p.end.heaps = 5;
        p.receives[0].chunk.emplace().placement = "heap 4096; time: item 0x1600 / 4096 [16]";
    };
    expect_refused(with_chunks, "end.heaps", {"into chunks"});
    expect_accepted([](Plan& p) { p.end.heaps = 5; });
    expect_accepted([&](Plan& p) {
        with_chunks(p);
        p.runtime.live = true;
    });
}

TEST(Validate, NamesAreUniqueAmongTheirKind) {
    expect_refused([](Plan& p) { p.receives.push_back(receive_plan("s0", "239.1.2.4:7148")); },
                   "receive[1].name", {"`s0`", "taken"});
    expect_refused([](Plan& p) { p.sends.push_back(send_plan("d0", "239.1.2.4:7148")); }, "send[1].name",
                   {"`d0`", "taken"});
    expect_refused([](Plan& p) { p.ports.push_back({"p0", "other", 0}); }, "port[1].name", {"`p0`", "taken"});
    expect_accepted([](Plan& p) { p.sends[0].name = "s0"; });
}

TEST(Validate, PortsMustExist) {
    expect_refused([](Plan& p) { p.receives[0].port = "p1"; }, "receive[0].port",
                   {"no port `p1`", "did you mean `p0`", "the ports are p0"});
    expect_refused([](Plan& p) { p.sends[0].port = "eth"; }, "send[0].port",
                   {"no port `eth`", "the ports are p0"});
    expect_refused([](Plan& p) { p.ports.clear(); }, "receive[0].port", {"no ports", "[[port]]"});
}

TEST(Validate, PortsNeedADeviceOfTheirOwn) {
    expect_refused([](Plan& p) { p.ports[0].device = ""; }, "port[0].device",
                   {"`p0` is empty", "IP address", "net_af_packet0,iface=veth0"});
    expect_refused(
        [](Plan& p) {
            p.ports.push_back({"p1", "net_ring0", 0});
        },
        "port[1].device", {"`p1`", "`p0`", "net_ring0"});
    expect_refused([](Plan& p) { p.ports[0].mtu = 67; }, "port[0].mtu", {"`mtu` is 67", "68 to 65535"});
    for (const std::uint32_t address : {0xE0000001U, 0xFFFFFFFFU, 0xF0000001U, 0x7F000001U})
        expect_refused([&](Plan& p) { p.ports[0].address = {address}; }, "port[0].address",
                       {to_string(Ipv4{address}), "p0", "10.0.0.5"});
    expect_accepted([](Plan& p) { p.ports[0].address = {0x0A000005}; });
}

TEST(Validate, StreamsNeedEndpoints) {
    expect_refused(
        [](Plan& p) {
            p.receives[0].endpoints.clear();
            p.receives[0].endpoint_texts.clear();
        },
        "receive[0].endpoints", {"the endpoint is missing", "239.1.2.3:7148"});
    expect_refused(
        [](Plan& p) {
            p.sends[0].endpoints.clear();
            p.sends[0].endpoint_texts.clear();
        },
        "send[0].endpoints", {"the endpoint is missing"});
    expect_refused([](Plan& p) { p.receives[0] = receive_plan("s0", "0.0.0.0:7148"); },
                   "receive[0].endpoints", {"0.0.0.0:7148", "no address"});
    expect_refused([](Plan& p) { p.receives[0].endpoint_texts = {"239.1.2.4:7148"}; }, "receive[0].endpoints",
                   {"do not match their texts"});
}

TEST(Validate, TwoStreamsCannotHaveTheSameEndpoint) {
    expect_refused([](Plan& p) { p.receives.push_back(receive_plan("s1", "239.1.2.3:7148")); },
                   "receive[1].endpoints[0]",
                   {"239.1.2.3:7148 is already received by stream `s0`", "one stream only"});
}

TEST(Validate, RangesOfTwoStreamsCannotOverlap) {
    expect_refused(
        [](Plan& p) {
            p.receives.push_back(receive_plan("s1", "239.1.0.0+9:7148"));
            auto other = receive_plan("s2", "239.9.0.0:7148");
            other.endpoint_texts.push_back("239.1.0.5+9:7148");
            for (const Endpoint& e : parse_endpoints("239.1.0.5+9:7148"))
                other.endpoints.push_back(e);
            p.receives.push_back(other);
        },
        "receive[2].endpoints[1]", {"239.1.0.5:7148", "`s1`"});
    expect_accepted([](Plan& p) {
        p.receives.push_back(receive_plan("s1", "239.1.0.0+9:7148"));
        p.receives.push_back(receive_plan("s2", "239.1.0.10+9:7148"));
        p.receives.push_back(receive_plan("s3", "239.1.0.0+9:7149"));
    });
}

TEST(Validate, OneStreamCannotNameAnAddressTwice) {
    expect_refused(
        [](Plan& p) {
            p.receives[0].endpoint_texts.push_back("239.1.2.0+5:7148");
            for (const Endpoint& e : parse_endpoints("239.1.2.0+5:7148"))
                p.receives[0].endpoints.push_back(e);
        },
        "receive[0].endpoints[1]", {"239.1.2.3:7148 is already in stream `s0`"});
}

TEST(Validate, DifferentSourcesOfOneGroupAreDifferentStreamsButAnySourceOverlapsAll) {
    expect_accepted([](Plan& p) {
        p.receives[0] = receive_plan("s0", "239.1.2.3:7148@10.0.0.1");
        p.receives.push_back(receive_plan("s1", "239.1.2.3:7148@10.0.0.2"));
    });
    expect_refused([](Plan& p) { p.receives.push_back(receive_plan("s1", "239.1.2.3:7148@10.0.0.2")); },
                   "receive[1].endpoints[0]", {"239.1.2.3:7148@10.0.0.2 overlaps 239.1.2.3:7148", "`s0`"});
    expect_refused(
        [](Plan& p) {
            p.receives[0] = receive_plan("s0", "239.1.2.3:7148@10.0.0.1");
            p.receives.push_back(receive_plan("s1", "239.1.2.3:7148"));
        },
        "receive[1].endpoints[0]", {"overlaps", "`s0`"});
}

TEST(Validate, TheSameEndpointOnTwoPortsIsTwoStreams) {
    expect_accepted([](Plan& p) {
        p.ports.push_back({"p1", "net_ring1", 0});
        p.receives.push_back(receive_plan("s1", "239.1.2.3:7148"));
        p.receives[1].port = "p1";
    });
}

TEST(Validate, NumbersStayInTheirRanges) {
    expect_refused([](Plan& p) { p.memory.heaps = 1; }, "memory.heaps", {"`heaps` is 1 B", "4 KiB"});
    expect_refused([](Plan& p) { p.receives[0].max_poll = 0; }, "receive[0].max_poll", {"`max_poll` is 0"});
    expect_refused([](Plan& p) { p.receives[0].max_packet_size = 65508; }, "receive[0].max_packet_size",
                   {"65508", "65507"});
    expect_refused([](Plan& p) { p.receives[0].substreams = 0; }, "receive[0].substreams",
                   {"`substreams` is 0"});
    expect_refused([](Plan& p) { p.receives[0].max_live = 0; }, "receive[0].heaps.max_live",
                   {"`max_live` is 0"});
    expect_refused([](Plan& p) { p.receives[0].queue_depth = 0; }, "receive[0].heaps.queue_depth",
                   {"`queue_depth` is 0"});
    expect_refused([](Plan& p) { p.receives[0].max_bytes = 0; }, "receive[0].heaps.max_bytes",
                   {"`max_bytes` is 0"});
    expect_refused([](Plan& p) { p.receives[0].history = 2000000; }, "receive[0].heaps.history", {"2000000"});
    expect_refused([](Plan& p) { p.receives[0].buffer_size = UINT64_MAX; }, "receive[0].buffer_size",
                   {"`buffer_size`"});
    expect_refused([](Plan& p) { p.receives[0].timeout = -1; }, "receive[0].heaps.timeout",
                   {"`timeout` is -1"});
    expect_refused([](Plan& p) { p.receives[0].timeout = std::nan(""); }, "receive[0].heaps.timeout",
                   {"nan"});
    expect_refused([](Plan& p) { p.receives[0].history_time = std::numeric_limits<double>::infinity(); },
                   "receive[0].heaps.history_time", {"inf"});
    expect_refused([](Plan& p) { p.receives[0].lcores = {5000}; }, "receive[0].lcores", {"5000", "1023"});
    expect_refused([](Plan& p) { p.sends[0].rate = -1; }, "send[0].rate", {"-1", "0 to 8000Tbps"});
    expect_refused([](Plan& p) { p.sends[0].burst_size = 0; }, "send[0].burst_size", {"`burst_size` is 0"});
    expect_refused([](Plan& p) { p.sends[0].burst_rate_ratio = std::nan(""); }, "send[0].burst_rate_ratio",
                   {"nan"});
    expect_refused([](Plan& p) { p.sends[0].max_packet_size = 55; }, "send[0].max_packet_size", {"55", "56"});
    expect_refused([](Plan& p) { p.sends[0].heap_size = 3; }, "send[0].heap_size", {"`heap_size` is 3"});
    expect_refused([](Plan& p) { p.sends[0].items = 0; }, "send[0].items", {"`items` is 0"});
    expect_refused([](Plan& p) { p.sends[0].heaps = -2; }, "send[0].heaps", {"`heaps` is -2"});
    expect_refused([](Plan& p) { p.sends[0].max_heaps = 0; }, "send[0].max_heaps", {"`max_heaps` is 0"});
    expect_refused([](Plan& p) { p.sends[0].count_step = 0; }, "send[0].count_step", {"`count_step` is 0"});
    expect_refused([](Plan& p) { p.sends[0].lcore = 5000; }, "send[0].lcore", {"5000"});
    expect_refused([](Plan& p) { p.runtime.main_cpu = 5000; }, "runtime.main_cpu", {"5000"});
    expect_refused([](Plan& p) { p.end.duration = -1; }, "end.duration", {"`duration` is -1"});
    expect_refused([](Plan& p) { p.end.idle_exit = std::nan(""); }, "end.idle_exit", {"nan"});
    expect_refused([](Plan& p) { p.end.heaps = UINT64_MAX; }, "end.heaps", {"`heaps`"});
}

TEST(Validate, ACpuIsListedOnce) {
    expect_refused(
        [](Plan& p) {
            p.receives[0].lcores = {1, 2, 1};
        },
        "receive[0].lcores", {"CPU 1", "twice"});
    expect_refused([](Plan& p) { p.runtime.lcores = {3, 3}; }, "runtime.lcores", {"CPU 3", "twice"});
}

TEST(Validate, TheLogLevelIsOneDpdkKnows) {
    expect_refused([](Plan& p) { p.runtime.log_level = "loud"; }, "runtime.log_level", {"`loud`", "debug"});
    expect_accepted([](Plan& p) { p.runtime.log_level = "pmd.*:debug"; });
    expect_refused([](Plan& p) { p.receives[0].expected_rate = -1; }, "receive[0].expected_rate",
                   {"-1", "0"});
    expect_refused([](Plan& p) { p.receives[0].expected_rate = std::nan(""); }, "receive[0].expected_rate",
                   {"nan"});
    expect_accepted([](Plan& p) { p.receives[0].expected_rate = 1.25e9; });
}

TEST(Validate, WhatIsExpectedOfStreamsIsInRange) {
    expect_refused([](Plan& p) { p.receives[0].silent_after = -1; }, "receive[0].silent_after", {"-1"});
    expect_refused([](Plan& p) { p.receives[0].loss_threshold = 1.5; }, "receive[0].loss_threshold",
                   {"1.5", "0 to 1"});
    expect_refused([](Plan& p) { p.receives[0].loss_threshold = std::nan(""); }, "receive[0].loss_threshold",
                   {"nan"});
    expect_refused([](Plan& p) { p.sends[0].timeout = -1; }, "send[0].timeout", {"-1"});
    expect_refused(
        [](Plan& p) {
            p.runtime.on_event = {"/bin/true", "\xff"};
        },
        "runtime.on_event[1]", {"UTF-8"});
    expect_refused([](Plan& p) { p.runtime.on_event = {""}; }, "runtime.on_event", {"program"});
    for (const double no : {0.5, -1.0, 1e9, std::nan("")})
        expect_refused([no](Plan& p) { p.runtime.lcore_timeout = no; }, "runtime.lcore_timeout", {});
    expect_accepted([](Plan& p) { p.runtime.lcore_timeout = 0; });
    expect_accepted([](Plan& p) {
        p.runtime.lcore_timeout = 1;
        p.receives[0].silent_after = 2;
        p.receives[0].loss_threshold = 1;
        p.sends[0].timeout = 0.1;
        p.runtime.on_event = {"/bin/true"};
    });
}

TEST(Validate, TextsAreUtf8) {
    expect_refused([](Plan& p) { p.ports[0].device = "a\xff"; }, "port[0].device", {"UTF-8"});
    expect_refused(
        [](Plan& p) {
            p.receives[0].sink = {runtime::SinkKind::file, "a\xc0\x80"};
        },
        "receive[0].sink.directory", {"UTF-8"});
}

TEST(Validate, ALargestHeapFitsTheMemoryForHeaps) {
    expect_refused([](Plan& p) { p.memory.heaps = 32u << 20; }, "receive[0].heaps.max_bytes",
                   {"64 MiB", "32 MiB", "--max-heap-bytes", "--memory", "[memory] heaps"});
    expect_accepted([](Plan& p) { p.memory.heaps = 64u << 20; });
}

TEST(Validate, AHistoryNeedsATime) {
    expect_refused([](Plan& p) { p.receives[0].history_time = 0; }, "receive[0].heaps.history_time",
                   {"no heap is remembered", "`history` 0"});
    expect_accepted([](Plan& p) {
        p.receives[0].history_time = 0;
        p.receives[0].history = 0;
    });
}

TEST(Validate, OnlyASinkThatWritesFilesHasADirectory) {
    expect_refused([](Plan& p) { p.receives[0].sink.kind = runtime::SinkKind::file; }, "receive[0].sink",
                   {"`directory`"});
    expect_refused([](Plan& p) { p.receives[0].sink.directory = "out"; }, "receive[0].sink.directory",
                   {"sink that writes files", "`null`"});
    expect_refused(
        [](Plan& p) {
            p.receives[0].sink = {runtime::SinkKind::file, "a", {}, 1};
        },
        "receive[0].sink.rotate_size", {"raw or hdf5 sink", "`file`"});
    expect_accepted([](Plan& p) { p.receives[0].sink = {runtime::SinkKind::raw, "a", {}, 1}; });
}

TEST(Validate, CapturesHaveFilesOfTheirOwn) {
    const auto with = [](auto change) {
        return [change](Plan& p) {
            p.receives[0].capture.emplace().files = {"a.pcap"};
            change(*p.receives[0].capture);
        };
    };
    using Options = capture::Options;
    expect_accepted(with([](Options&) {}));
    expect_refused(with([](Options& c) { c.files = {"-"}; }), "receive[0].capture.files",
                   {"`-`", "standard output", "name a file"});
    expect_accepted(with([](Options& c) { c.files = {"./-"}; }));
    expect_refused(with([](Options& c) { c.files.clear(); }), "receive[0].capture.files",
                   {"0 capture files"});
    expect_refused(with([](Options& c) {
                       c.files = {"a", "b", "a"};
                   }),
                   "receive[0].capture.files", {"two captures"});
    expect_refused(with([](Options& c) { c.files = {"a/"}; }), "receive[0].capture.files",
                   {"is not a capture file"});
    expect_refused(with([](Options& c) { c.snap_length = 0; }), "receive[0].capture.snap_length",
                   {"1 to 65535"});
    expect_refused(with([](Options& c) { c.buffer = 1; }), "receive[0].capture.buffer", {"buffer"});
    expect_refused(with([](Options& c) { c.duration = -1; }), "receive[0].capture.duration", {"-1"});
    expect_refused(with([](Options& c) { c.rotate_seconds = -1; }), "receive[0].capture.rotate_seconds",
                   {"-1"});
}

TEST(Validate, ASenderCannotChooseASource) {
    expect_refused([](Plan& p) { p.sends[0] = send_plan("d0", "239.20.0.1:7148@10.0.0.7"); },
                   "send[0].endpoints", {"239.20.0.1:7148@10.0.0.7", "leave out `@10.0.0.7`"});
}

TEST(Validate, AMacAddressIsForUnicastEndpointsAndSomebodys) {
    const MacAddress mac{2, 0, 0, 0, 0, 5};
    expect_refused([&](Plan& p) { p.sends[0].dst_mac = mac; }, "send[0].dst_mac",
                   {"unicast", "`d0` has none", "leave it out"});
    const auto unicast = [](Plan& p, const MacAddress& to) {
        p.sends[0] = send_plan("d0", "10.20.0.1:7148");
        p.sends[0].dst_mac = to;
    };
    expect_refused([&](Plan& p) { unicast(p, MacAddress{}); }, "send[0].dst_mac", {"00:00:00:00:00:00"});
    expect_accepted([&](Plan& p) { unicast(p, mac); });
}

TEST(Validate, PacketsSentFitTheMtu) {
    expect_refused([](Plan& p) { p.ports[0].mtu = 1499; }, "send[0].max_packet_size",
                   {"1472", "28", "MTU 1499", "`p0`", "at most 1471", "at least 1500"});
    expect_accepted([](Plan& p) { p.ports[0].mtu = 1500; });
    // Receiving larger packets than the MTU only warns, and not here.
    expect_accepted([](Plan& p) {
        p.ports[0].mtu = 1500;
        p.receives[0].max_packet_size = 9200;
    });
}

TEST(Validate, TheFlavourHoldsHeapsAndItems) {
    expect_refused([](Plan& p) { p.sends[0].impair = "loss=2"; }, "send[0].impair",
                   {"`2` is not a fraction"});
    expect_refused([](Plan& p) { p.sends[0].impair = "lose=1%"; }, "send[0].impair",
                   {"`lose` is not an impairment"});
    expect_refused([](Plan& p) { p.sends[0].address_bits = 12; }, "send[0].addr_bits",
                   {"12", "multiple of 8"});
    expect_refused([](Plan& p) { p.sends[0].address_bits = 56; }, "send[0].addr_bits",
                   {"56 address bits leave 7", "0x1000 to 0x1000"});
    expect_refused([](Plan& p) { p.sends[0].address_bits = 16; }, "send[0].addr_bits",
                   {"16 address bits", "64.0 KiB", "4 MiB"});
    expect_refused(
        [](Plan& p) {
            p.sends[0].address_bits = 48;
            p.sends[0].items = 28673;
        },
        "send[0].addr_bits", {"48 address bits leave 15", "0x1000 to 0x8000"});
    expect_accepted([](Plan& p) {
        p.sends[0].address_bits = 48;
        p.sends[0].items = 28672;
    });
    expect_accepted([](Plan& p) {
        p.sends[0].address_bits = 16;
        p.sends[0].heap_size = 65535 - 512;  // the first heap carries the descriptor too
    });
    expect_refused(
        [](Plan& p) {
            p.sends[0].address_bits = 16;
            p.sends[0].heap_size = 65535;
        },
        "send[0].addr_bits", {"16 address bits", "descriptors of the first"});
    expect_refused([](Plan& p) { p.sends[0].items = 1048577; }, "send[0].items", {"1048577"});
    expect_refused(
        [](Plan& p) {
            p.sends[0].heap_size = 4095;
            p.sends[0].items = 1024;
        },
        "send[0].items", {"1024 items", "4095 B", "less than 4 bytes"});
}

TEST(Validate, WhatOnePlanSendsAndReceivesFitsTogether) {
    expect_refused(
        [](Plan& p) {
            p.sends[0] = send_plan("d0", "239.1.2.0+7:7148");
            p.receives[0].max_bytes = 1u << 20;
        },
        "send[0].heap_size", {"4 MiB", "1 MiB", "`s0`", "--max-heap-bytes"});
    expect_refused(
        [](Plan& p) {
            p.sends[0] = send_plan("d0", "239.1.2.3:7148");
            p.receives[0].max_packet_size = 1471;
        },
        "send[0].max_packet_size", {"1472", "1471", "`s0`"});
    expect_refused(
        [](Plan& p) {
            p.sends[0] = send_plan("d0", "239.1.2.3:7148");
            p.receives[0].max_bytes = p.sends[0].heap_size;
        },
        "send[0].heap_size", {"descriptors of the first"});
    expect_accepted([](Plan& p) {
        p.sends[0] = send_plan("d0", "239.1.2.3:7148");
        p.receives[0].max_bytes = p.sends[0].heap_size + 512;
    });
    expect_accepted([](Plan& p) {
        p.ports.push_back({"p1", "net_ring1", 0});
        p.sends[0] = send_plan("d0", "239.1.2.3:7148");
        p.sends[0].port = "p1";  // goes elsewhere
        p.receives[0].max_bytes = 1u << 20;
    });
    expect_accepted([](Plan& p) {
        p.sends[0] = send_plan("d0", "239.1.2.3:7149");  // another UDP port
        p.receives[0].max_bytes = 1u << 20;
    });
}

TEST(Validate, EndsOfReceivingNeedAStream) {
    const auto only_send = [](Plan& p) { p.receives.clear(); };
    expect_refused([&](Plan& p) { only_send(p), p.end.heaps = 1; }, "end.heaps", {"[[send]]"});
    expect_refused([&](Plan& p) { only_send(p), p.end.idle_exit = 1; }, "end.idle_exit", {"has no stream"});
    expect_refused([&](Plan& p) { only_send(p), p.end.exit_on_stop = true; }, "end.exit_on_stop",
                   {"the plan has none"});
    expect_accepted([&](Plan& p) { only_send(p), p.end.duration = 1; });
}

TEST(Validate, APlanNeedsAStream) {
    expect_refused([](Plan& p) { p.receives.clear(), p.sends.clear(); }, "",
                   {"no stream to receive", "[[receive]]", "[[send]]"});
}

TEST(Validate, ChunksHaveAPlacementAndEnoughBuffers) {
    const auto with = [](auto change) {
        return [change](Plan& p) {
            p.receives[0].chunk.emplace().placement = "heap 64; time: item 0x1600 / 4096 [8]";
            change(p.receives[0]);
        };
    };
    using runtime::ReceivePlan;
    expect_accepted(with([](ReceivePlan&) {}));
    expect_accepted(with([](ReceivePlan& r) { r.max_bytes = std::uint64_t{1} << 30; }));
    expect_refused(with([](ReceivePlan& r) { r.chunk->placement.clear(); }), "receive[0].chunk.placement",
                   {"`s0` have no `placement`"});
    expect_refused(with([](ReceivePlan& r) { r.chunk->placement = "heap"; }), "receive[0].chunk.placement",
                   {});
    expect_refused(with([](ReceivePlan& r) { r.chunk->chunks = r.chunk->window = 4; }),
                   "receive[0].chunk.chunks",
                   {"4 in the window + at least 1 with the consumer = 5", "--chunks"});
    expect_refused(with([](ReceivePlan& r) { r.chunk->window = 257; }), "receive[0].chunk.window",
                   {"1 to 256"});
    expect_refused(with([](ReceivePlan& r) { r.on_full = runtime::OnFullSetting::drop_oldest; }),
                   "receive[0].heaps.on_full", {"drop_newest or block"});
    expect_refused(with([](ReceivePlan& r) {
                       r.capture.emplace().files = {"a.pcap"};
                       r.capture->only = true;
                   }),
                   "receive[0].capture.only", {"chunks"});
}

TEST(Validate, TheWayIsSaidOnceOrTheSameTwice) {
    const auto with = [](const char* in_text, chunk::Way way) {
        return [in_text, way](Plan& p) {
            p.receives[0].chunk.emplace().placement =
                std::string("heap 64; time: item 0x1600 / 4096 [8]") + in_text;
            p.receives[0].chunk->way = way;
        };
    };
    expect_accepted(with("", chunk::Way::tracked));
    expect_accepted(with("; tracked", chunk::Way::automatic));
    expect_accepted(with("; tracked", chunk::Way::tracked));
    expect_refused(with("; direct", chunk::Way::tracked), "receive[0].chunk.way",
                   {"`way` is tracked", "says `direct`", "leave one"});
}

}  // namespace
}  // namespace spead::config
