// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "send/packetiser.hpp"

namespace spead::send::test {

using Bytes = std::vector<std::uint8_t>;

/// Returns all packets of a layout as the packetiser makes them, one by one.
inline std::vector<Bytes> packets_of(const HeapLayout& layout, std::uint64_t cnt) {
    std::vector<Bytes> packets;
    Packetiser p;
    for (p.start(layout, cnt); !p.done();) {
        const Packetiser::Packet packet = p.next();
        Bytes bytes(packet.header_length);
        p.write_header(packet, bytes.data());
        p.for_each_piece(packet, [&](const std::byte* data, std::uint32_t length, PieceKind) {
            EXPECT_NE(length, 0U);
            for (std::uint32_t i = 0; i < length; ++i)
                bytes.push_back(std::to_integer<std::uint8_t>(data[i]));
        });
        packets.push_back(std::move(bytes));
        p.advance(packet);
    }
    return packets;
}

inline std::string hex(const Bytes& bytes) {
    static constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t b : bytes) {
        text += kDigits[b >> 4];
        text += kDigits[b & 15];
    }
    return text;
}

}  // namespace spead::send::test
