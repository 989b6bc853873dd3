// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/byte_order.hpp"
#include "wire/flavour.hpp"
#include "wire/net.hpp"
#include "wire/spead.hpp"

/// Makes frames and packets to parse, field by field so that any of them can be wrong.
namespace spead::wire::test {

using Bytes = std::vector<std::uint8_t>;

/// Returns the bytes of hexadecimal digits, as "53 04 0305". Other characters are ignored.
inline Bytes from_hex(std::string_view text) {
    Bytes out;
    int high = -1;
    for (const char c : text) {
        int digit = 0;
        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if (c >= 'a' && c <= 'f')
            digit = c - 'a' + 10;
        else
            continue;
        if (high < 0) {
            high = digit;
        } else {
            out.push_back(static_cast<std::uint8_t>(high * 16 + digit));
            high = -1;
        }
    }
    return out;
}

/// Returns one of the seven flavours.
template <typename Random>
Flavour any_flavour(Random& random) {
    return Flavour(static_cast<unsigned>(8 * (1 + random() % 7)));
}

/// Holds memory of exactly the length given, so that AddressSanitizer sees the first byte read beyond it.
class ExactCopy {
  public:
    /// Copies `length` bytes. Not inlined: g++ 12 sees impossible lengths in the callers and warns about
    /// them.
    [[gnu::noinline]] ExactCopy(const Bytes& bytes, std::size_t length)
        : bytes_(std::make_unique<std::uint8_t[]>(length)), length_(length) {
        for (std::size_t i = 0; i < length; ++i)
            bytes_[i] = bytes[i];
    }
    explicit ExactCopy(const Bytes& bytes) : ExactCopy(bytes, bytes.size()) {}

    const std::uint8_t* data() const { return bytes_.get(); }
    std::size_t size() const { return length_; }

  private:
    std::unique_ptr<std::uint8_t[]> bytes_;
    std::size_t length_;
};

/// Describes an Ethernet frame with a UDP datagram. Lengths are right unless set otherwise after the fact.
struct Frame {
    std::vector<std::uint16_t> tags{};  ///< TPIDs, outermost first
    std::uint16_t ether_type = kEtherTypeIpv4;
    std::size_t ihl = 5;  ///< words written; options are no-operation bytes
    std::uint8_t protocol = kProtocolUdp;
    std::uint16_t fragment = kIpv4DontFragment;
    Bytes payload = {'p', 'a', 'y', 'l', 'o', 'a', 'd'};
    std::size_t padding = 0;  ///< bytes after the IP datagram

    std::size_t ip_at() const { return kEthernetHeader + tags.size() * kVlanTag; }
    std::size_t udp_at() const { return ip_at() + ihl * 4; }

    Bytes build() const {
        Bytes out(udp_at() + kUdpHeader + payload.size() + padding);
        const MacAddress dst = multicast_mac({0xEF010203});
        std::memcpy(out.data(), dst.data(), dst.size());
        for (std::size_t i = 0; i < tags.size(); ++i) {
            store_be16(&out[12 + 4 * i], tags[i]);
            store_be16(&out[14 + 4 * i], static_cast<std::uint16_t>(100 + i));
        }
        store_be16(&out[ip_at() - 2], ether_type);
        std::uint8_t* const ip = &out[ip_at()];
        ip[0] = static_cast<std::uint8_t>(0x40 | ihl);
        store_be16(ip + 2, static_cast<std::uint16_t>(ihl * 4 + kUdpHeader + payload.size()));
        store_be16(ip + 6, fragment);
        ip[8] = 4;
        ip[9] = protocol;
        store_be32(ip + 12, 0x0A000007);
        store_be32(ip + 16, 0xEF010203);
        if (ihl > 5)
            std::memset(ip + 20, 1, ihl * 4 - 20);
        std::uint8_t* const udp = &out[udp_at()];
        store_be16(udp, 50000);
        store_be16(udp + 2, 7148);
        store_be16(udp + 4, static_cast<std::uint16_t>(kUdpHeader + payload.size()));
        store_be16(udp + 6, 0xBEEF);
        if (!payload.empty())
            std::memcpy(udp + kUdpHeader, payload.data(), payload.size());
        sum(out);
        return out;
    }

    /// Puts the right IPv4 checksum into `frame`, which this described.
    void sum(Bytes& frame) const {
        store_be16(&frame[ip_at() + 10], 0);
        store_be16(&frame[ip_at() + 10], ipv4_checksum(&frame[ip_at()], ihl * 4));
    }
};

/// Describes a SPEAD packet: header, pointers as they come, payload.
struct Packet {
    Flavour flavour{};
    std::vector<std::uint64_t> pointers{};
    Bytes payload{};

    Packet& immediate(std::uint64_t id, std::uint64_t value) {
        pointers.push_back(flavour.make_immediate(id, value));
        return *this;
    }
    Packet& address(std::uint64_t id, std::uint64_t offset) {
        pointers.push_back(flavour.make_address(id, offset));
        return *this;
    }
    /// Adds the usual four specials, in the usual order.
    Packet& specials(std::uint64_t cnt, std::uint64_t heap_length, std::uint64_t offset) {
        return immediate(item::kHeapCnt, cnt)
            .immediate(item::kHeapLength, heap_length)
            .immediate(item::kPayloadOffset, offset)
            .immediate(item::kPayloadLength, payload.size());
    }

    Bytes build() const {
        Bytes out(kSpeadHeader + kItemPointer * pointers.size());
        out[0] = kSpeadMagic;
        out[1] = kSpeadVersion;
        out[2] = static_cast<std::uint8_t>(8 - flavour.address_bytes());
        out[3] = static_cast<std::uint8_t>(flavour.address_bytes());
        store_be16(&out[6], static_cast<std::uint16_t>(pointers.size()));
        for (std::size_t i = 0; i < pointers.size(); ++i)
            store_be64(&out[kSpeadHeader + kItemPointer * i], pointers[i]);
        out.insert(out.end(), payload.begin(), payload.end());
        return out;
    }
};

}  // namespace spead::wire::test
