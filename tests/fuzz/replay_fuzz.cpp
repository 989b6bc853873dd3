// SPDX-License-Identifier: BSD-3-Clause
// Any files as captures to be replayed, with any rules: every record is accounted for, every frame is the
// record's with what the rules change, a second pass is the first one later, and checksums that were right
// stay right.

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"
#include "replay/loader.hpp"
#include "tests/fuzz/captures.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/refusal.hpp"
#include "wire/net.hpp"

namespace {

using namespace spead;
using fuzz::Choices;
using fuzz::Input;
using fuzz::require;
using replay::Loader;

constexpr std::size_t kMostFiles = 3;
constexpr std::uint32_t kLongestFrame = 65535;

/// Holds a regular file of these bytes, without a name in any directory.
class MemoryFile {
  public:
    explicit MemoryFile(std::span<const std::uint8_t> bytes) : fd_(memfd_create("capture", MFD_CLOEXEC)) {
        require(fd_ >= 0 && write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
                "there is memory for a file");
    }
    ~MemoryFile() { close(fd_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

  private:
    int fd_;
};

/// Holds a record as the file has it, read the plain way.
struct Record {
    std::uint64_t time_ns = 0;
    Input bytes;
    bool cut = false;
};

/// Returns a file's whole records that the reader accepts, of either byte order, in micro- or nanoseconds.
std::vector<Record> records_of(std::span<const std::uint8_t> file) {
    const auto number = [&file](std::size_t at, bool swapped) {
        std::uint32_t value = 0;
        std::memcpy(&value, &file[at], 4);
        return swapped ? __builtin_bswap32(value) : value;
    };
    const bool swapped = number(0, false) != 0xA1B2C3D4 && number(0, false) != 0xA1B23C4D;
    const bool nanoseconds = number(0, swapped) == 0xA1B23C4D;
    const std::uint32_t snap = number(16, swapped);
    const std::uint32_t most = snap == 0 ? 262144 : std::min<std::uint32_t>(snap, 262144);
    std::vector<Record> records;
    for (std::size_t at = 24; file.size() - at >= 16;) {
        const std::uint32_t captured = number(at + 8, swapped);
        if (captured > 262144 || captured > file.size() - at - 16) {
            break;
        }
        Record record;
        record.time_ns = number(at, swapped) * std::uint64_t{1'000'000'000} +
                         number(at + 4, swapped) * std::uint64_t{nanoseconds ? 1U : 1000U};
        const auto bytes = file.subspan(at + 16, std::min(captured, most));
        record.bytes.assign(bytes.begin(), bytes.end());
        record.cut = record.bytes.size() < number(at + 12, swapped);
        records.push_back(std::move(record));
        at += 16 + captured;
    }
    return records;
}

struct Sent {
    std::uint64_t time_ns;
    Input bytes;
    bool operator==(const Sent&) const = default;
};

/// Loads one pass, window by window.
std::vector<Sent> one_pass(Loader& loader, std::size_t capacity, const replay::RewriteRules& rules) {
    std::vector<std::byte> memory(capacity);
    replay::CaptureWindow window;
    window.base = memory.data();
    window.capacity = capacity;
    std::vector<Sent> sent;
    for (bool more = true; more;) {
        more = loader.fill(window);
        require(window.used <= capacity, "frames fit the window");
        require(!more || !window.frames.empty(), "a window has something");
        std::size_t end = 0;
        std::vector<replay::Frame> by_place = window.frames;
        std::ranges::sort(by_place, {}, &replay::Frame::offset);
        for (const replay::Frame& frame : by_place) {
            require(frame.offset >= end && frame.length <= window.used - frame.offset,
                    "frames lie in the window, each in a place of its own");
            end = frame.offset + frame.length;
        }
        require(std::ranges::is_sorted(window.frames, {}, &replay::Frame::time_ns), "times ascend");
        for (const replay::Frame& frame : window.frames) {
            const auto* const first = reinterpret_cast<const std::uint8_t*>(window.base) + frame.offset;
            sent.push_back({frame.time_ns, Input(first, first + frame.length)});
            require(frame.length >= wire::kEthernetHeader || rules.strip_vlan, "a frame has a header");
        }
    }
    return sent;
}

std::optional<wire::UdpView> datagram_of(const Input& frame, bool verify) {
    wire::UdpView udp{};
    if (wire::parse_udp(frame.data(), frame.size(), frame.size(), verify, udp) != PortOutcome::stream) {
        return std::nullopt;
    }
    return udp;
}

std::uint16_t udp_sum_of(const Input& frame, const wire::UdpView& udp) {
    return wire::udp_checksum(udp.source(), udp.destination(), udp.src_port, udp.dst_port,
                              std::span(frame).subspan(udp.payload_offset, udp.payload_length));
}
std::uint16_t udp_field_of(const Input& frame, const wire::UdpView& udp) {
    return load_be16(&frame[udp.payload_offset - 2]);
}

/// Checks from both frames that rewriting changed exactly the parts that it must.
void check_rewritten(const Input& before, const Input& after, const replay::RewriteRules& rules) {
    const auto was = datagram_of(before, false);
    const auto is = datagram_of(after, false);
    const std::size_t stripped = before.size() - after.size();
    require(after.size() <= before.size() && stripped % wire::kVlanTag == 0 &&
                (stripped == 0 || rules.strip_vlan),
            "only tags are taken away");
    if (rules.source_mac) {
        require(std::equal(rules.source_mac->begin(), rules.source_mac->end(), after.begin() + 6),
                "the source's MAC address is the new one");
    }
    if (!was) {
        require(!rules.readdresses(), "what cannot be read is not readdressed");
        return;
    }
    require(is.has_value(), "a datagram stays one");
    require(is->payload_length == was->payload_length &&
                std::equal(before.begin() + was->payload_offset,
                           before.begin() + was->payload_offset + was->payload_length,
                           after.begin() + is->payload_offset),
            "the payload stays as it is");
    const auto mapped = rules.map.find({was->destination(), was->dst_port});
    const replay::NewDestination* const to = mapped != rules.map.end() ? &mapped->second
                                             : rules.to                ? &*rules.to
                                                                       : nullptr;
    const IpAddress source = was->ipv6      ? IpAddress(rules.source6.value_or(was->src_ip6))
                             : rules.source ? IpAddress(*rules.source)
                                            : was->source();
    require(is->ipv6 == was->ipv6 &&
                is->destination() == (to != nullptr ? to->address : was->destination()) &&
                is->dst_port == (to != nullptr ? to->port : was->dst_port) && is->source() == source &&
                is->src_port == was->src_port,
            "addresses are what the rules say");
    require(datagram_of(before, true).has_value() == datagram_of(after, true).has_value(),
            "the IPv4 checksum is as right as before");
    if (udp_field_of(before, *was) == 0) {
        require(udp_field_of(after, *is) == 0, "no checksum stays none");
    } else if (udp_field_of(before, *was) == udp_sum_of(before, *was)) {
        require(udp_field_of(after, *is) == udp_sum_of(after, *is), "a right UDP checksum stays right");
    } else {
        require(udp_field_of(after, *is) != udp_sum_of(after, *is), "a wrong UDP checksum stays wrong");
    }
}

replay::RewriteRules any_rules(Choices& choices) {
    replay::RewriteRules rules;
    const std::uint8_t which = choices.byte();
    const auto any_destination = [&choices] {
        const std::uint32_t address = choices.word32();
        const bool six = (address & 1) != 0;
        return replay::NewDestination{
            six ? IpAddress(Ipv6{0xFF15'0000'0000'0000, address}) : IpAddress(address),
            choices.word16(),
            {1, 0, 0x5E, 1, 2, choices.byte()}};
    };
    if ((which & 1U) != 0) {
        rules.to = any_destination();
    }
    if ((which & 2U) != 0) {
        rules.map[{0xEF0A0A00U + choices.byte(), 7148}] = any_destination();
    }
    if ((which & 4U) != 0) {
        rules.ttl = choices.byte();
    }
    if ((which & 8U) != 0) {
        rules.source_mac = MacAddress{2, 0, 0, 0, 0, choices.byte()};
    }
    if ((which & 16U) != 0) {
        rules.source = Ipv4{choices.word32()};
        rules.source6 = Ipv6{0xFD00'0000'0000'0000, rules.source->value};
    }
    rules.strip_vlan = (which & 32U) != 0;
    return rules;
}

/// Returns the frames that the records must become, in no order; counts the results of them all.
std::multiset<std::string> expected_of(const std::vector<Record>& records, const replay::RewriteRules& rules,
                                       std::uint32_t longest, replay::LoadCounts& counts) {
    std::multiset<std::string> frames;
    for (const Record& record : records) {
        counts.records++;
        if (record.bytes.size() < wire::kEthernetHeader) {
            counts.runts++;
        } else if (record.cut) {
            counts.cut++;
        } else if (record.bytes.size() > longest) {
            counts.too_long++;
        } else {
            Input frame = record.bytes;
            const replay::Rewritten result = replay::rewrite(frame, rules);
            if (!result.good) {
                counts.not_udp++;
                continue;
            }
            counts.frames++;
            frame.erase(frame.begin(), frame.begin() + result.skip);
            check_rewritten(record.bytes, frame, rules);
            frames.emplace(frame.begin(), frame.end());
        }
    }
    return frames;
}

void check(Loader& loader, const std::vector<Record>& records, const replay::RewriteRules& rules,
           std::uint32_t longest, std::size_t capacity) {
    replay::LoadCounts counts;
    const std::multiset<std::string> expected = expected_of(records, rules, longest, counts);
    const std::vector<Sent> first = one_pass(loader, capacity, rules);
    require(loader.counts() == counts, "every record is counted as what it is");
    require(first.size() == expected.size(), "every frame is sent once");
    std::multiset<std::string> frames;
    for (const Sent& sent : first) {
        frames.emplace(sent.bytes.begin(), sent.bytes.end());
    }
    require(frames == expected, "frames are the records, rewritten");
    require(loader.warnings().size() <= kMostFiles, "one warning for each file");

    const std::uint64_t period = loader.period_ns();
    loader.rewind();
    std::vector<Sent> second = one_pass(loader, capacity, rules);
    require(loader.counts() == counts, "a second pass counts the same");
    for (Sent& sent : second) {
        require(sent.time_ns >= period, "a second pass is behind the first");
        sent.time_ns -= period;
    }
    require(second == first, "a second pass is the first one later");
}

}  // namespace

std::vector<Input> fuzz::seeds() {
    constexpr std::size_t kSmall = 5000;
    std::vector<Input> inputs;
    for (const std::string& name : fuzz::capture_names()) {
        Input file = fuzz::source_file("tests/data/reference/" + name + ".pcap");
        // The header and the records that fit.
        std::size_t end = 24;
        while (end + 16 < file.size()) {
            const std::size_t next = end + 16 + __builtin_bswap32(load_be32(&file[end + 8]));
            if (next > kSmall) {
                break;
            }
            end = next;
        }
        if (end == 24) {
            continue;
        }
        file.resize(end);
        const auto low = static_cast<std::uint8_t>(end);
        const auto high = static_cast<std::uint8_t>(end >> 8);
        // Unchanged; readdressed with all there is; twice, as two files at once.
        Input plain = {0, 0, 0, 0, 0, high, low};
        plain.insert(plain.end(), file.begin(), file.end());
        inputs.push_back(plain);
        Input readdressed = {1, 0, 0, 0,    63,   239, 9, 9, 9,  0x1B, 0xEC, 1, 4,    239,
                             9, 9, 8, 0x1B, 0xED, 2,   9, 1, 10, 0,    0,    9, high, low};
        readdressed.insert(readdressed.end(), file.begin(), file.end());
        inputs.push_back(readdressed);
        if (inputs.size() < 8) {
            Input twice = {0, 0, 0, 1, 0, high, low};
            twice.insert(twice.end(), file.begin(), file.end());
            twice.insert(twice.end(), {high, low});
            twice.insert(twice.end(), file.begin(), file.end());
            inputs.push_back(twice);
        }
    }
    return inputs;
}

/// Reads order, longest frame, number of files, rules, then each file behind its length.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Choices choices({data, size});
    const auto order = choices.flag() ? Loader::Order::sequence : Loader::Order::time;
    const std::uint32_t longest = choices.word16();
    const std::size_t files = 1 + choices.below(kMostFiles);
    const replay::RewriteRules rules = any_rules(choices);
    std::deque<MemoryFile> memory;
    std::vector<std::string> paths;
    std::vector<Record> records;
    std::vector<std::span<const std::uint8_t>> contents;
    for (std::size_t i = 0; i < files; i++) {
        contents.push_back(choices.bytes(choices.word16()));
        memory.emplace_back(contents.back());
        paths.push_back(memory.back().path());
    }
    try {
        Loader loader(paths, order, rules, longest, "fuzz");
        for (const auto content : contents) {
            for (Record& record : records_of(content)) {
                records.push_back(std::move(record));
            }
        }
        check(loader, records, rules, longest == 0 ? kLongestFrame : longest, replay::kLeastWindow);
    } catch (const Error& error) {
        fuzz::require_sentence(error.what());
    }
    return 0;
}
