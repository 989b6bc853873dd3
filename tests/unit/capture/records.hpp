// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "capture/pcap_format.hpp"
#include "capture/pcap_reader.hpp"

/// Records made and read back the plain way.
namespace spead::capture::test {

struct Kept {
    std::uint64_t time_ns = 0;
    std::vector<std::uint8_t> bytes;
    std::uint32_t on_wire = 0;
    bool operator==(const Kept&) const = default;
};

/// Makes record `i` of a test. Its bytes show the number.
inline Kept record(std::uint64_t i, std::size_t length, std::uint64_t time_ns = 0) {
    Kept k{time_ns == 0 ? 1'700'000'000'000'000'000 + i * 1000 : time_ns, {}, 0};
    for (std::size_t b = 0; b < length; b++)
        k.bytes.push_back(static_cast<std::uint8_t>(i * 31 + b));
    k.on_wire = static_cast<std::uint32_t>(length);
    return k;
}

inline void append(std::vector<std::byte>& out, const Kept& k) {
    const PcapRecordHeader header{static_cast<std::uint32_t>(k.time_ns / 1'000'000'000),
                                  static_cast<std::uint32_t>(k.time_ns % 1'000'000'000),
                                  static_cast<std::uint32_t>(k.bytes.size()), k.on_wire};
    const auto* const h = reinterpret_cast<const std::byte*>(&header);
    out.insert(out.end(), h, h + sizeof header);
    const auto* const b = reinterpret_cast<const std::byte*>(k.bytes.data());
    out.insert(out.end(), b, b + k.bytes.size());
}

/// Returns all records. `end` becomes the reason why reading ended.
inline std::vector<Kept> read_all(const std::string& path, PcapReader::Next* end = nullptr) {
    PcapReader reader(path, "test");
    std::vector<Kept> all;
    PcapReader::Record r;
    PcapReader::Next next{};
    while ((next = reader.next(r)) == PcapReader::Next::record)
        all.push_back({r.time_ns, {r.data, r.data + r.length}, r.on_wire});
    if (end != nullptr)
        *end = next;
    return all;
}

}  // namespace spead::capture::test
