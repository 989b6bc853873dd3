// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pcap_format.hpp"

#include <cstring>
#include <string_view>
#include <utility>

#include "base/byte_order.hpp"
#include "base/error.hpp"

namespace spead::capture {

namespace {

constexpr std::uint32_t kMicroseconds = 0xA1B2C3D4;
constexpr std::uint32_t kNanoseconds = 0xA1B23C4D;
constexpr std::uint32_t kLinkTypeMask = 0x03FFFFFF;  // the rest says whether frames carry their FCS
constexpr std::uint32_t kLinkTypeEthernet = 1;
constexpr std::uint16_t kMajor = 2;
constexpr std::uint16_t kMinor = 4;

std::string_view name_of_link_type(std::uint32_t type) {
    switch (type) {
        case 0:
            return "BSD loopback";
        case 12:
        case 14:
        case 101:
            return "raw IP";
        case 105:
            return "IEEE 802.11";
        case 108:
            return "OpenBSD loopback";
        case 113:
            return "Linux cooked v1, as captured with `tcpdump -i any`";
        case 127:
            return "IEEE 802.11 with radiotap";
        case 197:
            return "Endace ERF";
        case 228:
            return "raw IPv4";
        case 229:
            return "raw IPv6";
        case 276:
            return "Linux cooked v2, as captured with `tcpdump -i any`";
        default:
            return "tcpdump.org/linktypes.html lists it";
    }
}

template <std::size_t N>
bool starts_with(const std::uint8_t* bytes, std::uint64_t size, const std::array<std::uint8_t, N>& magic) {
    return size >= N && std::memcmp(bytes, magic.data(), N) == 0;
}

constexpr std::array<std::uint8_t, 4> kPcapng{0x0A, 0x0D, 0x0D, 0x0A};
constexpr std::array<std::uint8_t, 2> kGzip{0x1F, 0x8B};
constexpr std::array<std::uint8_t, 4> kZstd{0x28, 0xB5, 0x2F, 0xFD};
constexpr std::array<std::uint8_t, 6> kXz{0xFD, '7', 'z', 'X', 'Z', 0x00};

[[noreturn]] void refuse_format(const std::string& path, const std::string& where, const std::uint8_t* bytes,
                                std::uint64_t size) {
    if (starts_with(bytes, size, kPcapng)) {
        throw_error(where,
                    "{} is a pcapng file, which cannot be replayed; convert it with `editcap -F pcap {} "
                    "OUT.pcap` "
                    "or `tshark -F pcap -r {} -w OUT.pcap`",
                    path, path, path);
    }
    for (const auto& [found, program] : {std::pair{starts_with(bytes, size, kGzip), "gzip"},
                                         std::pair{starts_with(bytes, size, kZstd), "zstd"},
                                         std::pair{starts_with(bytes, size, kXz), "xz"}}) {
        if (found) {
            throw_error(where, "{} is compressed; decompress it first with `{} -dk {}`", path, program, path);
        }
    }
    throw_error(where, "{} is not a pcap file: it starts with {:02x} {:02x} {:02x} {:02x}", path, bytes[0],
                bytes[1], bytes[2], bytes[3]);
}

template <typename T>
T load(const std::uint8_t* at, bool swapped) noexcept {
    T value;
    std::memcpy(&value, at, sizeof value);
    return swapped ? byte_swap(value) : value;
}

}  // namespace

std::array<std::byte, kPcapHeader> pcap_file_header(std::uint32_t snap_length) noexcept {
    const std::array<std::uint32_t, 6> words{
        kNanoseconds, std::uint32_t{kMinor} << 16 | kMajor, 0, 0, snap_length, kLinkTypeEthernet};
    std::array<std::byte, kPcapHeader> header;
    static_assert(sizeof words == kPcapHeader);
    std::memcpy(header.data(), words.data(), header.size());
    return header;
}

PcapFileHeader parse_pcap_header(std::span<const std::uint8_t> bytes, std::uint64_t size,
                                 const std::string& path, const std::string& where) {
    if (size == 0) {
        throw_error(where, "the capture file {} is empty", path);
    }
    if (size < kPcapHeader || bytes.size() < kPcapHeader) {
        throw_error(where, "{} has {} bytes, and a pcap file starts with a header of {}", path, size,
                    kPcapHeader);
    }
    const std::uint8_t* const header = bytes.data();
    PcapFileHeader out;
    const auto magic = load<std::uint32_t>(header, false);
    if (magic == kMicroseconds || magic == kNanoseconds) {
        out.nanoseconds = magic == kNanoseconds;
    } else if (byte_swap(magic) == kMicroseconds || byte_swap(magic) == kNanoseconds) {
        out.nanoseconds = byte_swap(magic) == kNanoseconds;
        out.swapped = true;
    } else {
        refuse_format(path, where, header, size);
    }
    const auto major = load<std::uint16_t>(header + 4, out.swapped);
    const auto minor = load<std::uint16_t>(header + 6, out.swapped);
    if (major != kMajor || minor != kMinor) {
        throw_error(
            where, "{} is a pcap file of version {}.{}; convert it to 2.4 with `editcap -F pcap {} OUT.pcap`",
            path, major, minor, path);
    }
    const std::uint32_t link_type = load<std::uint32_t>(header + 20, out.swapped) & kLinkTypeMask;
    if (link_type != kLinkTypeEthernet) {
        throw_error(where,
                    "{} holds no Ethernet frames: its link type is {} ({}); capture on an Ethernet interface",
                    path, link_type, name_of_link_type(link_type));
    }
    out.snap_length = load<std::uint32_t>(header + 16, out.swapped);
    if (out.snap_length == 0 || out.snap_length > kPcapMaxRecord) {
        out.snap_length = kPcapMaxRecord;
    }
    return out;
}

PcapRecordHeader parse_pcap_record(const std::uint8_t* bytes, const PcapFileHeader& file) noexcept {
    return {load<std::uint32_t>(bytes, file.swapped), load<std::uint32_t>(bytes + 4, file.swapped),
            load<std::uint32_t>(bytes + 8, file.swapped), load<std::uint32_t>(bytes + 12, file.swapped)};
}

}  // namespace spead::capture
