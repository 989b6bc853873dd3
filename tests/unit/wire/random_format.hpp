// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "wire/packet_format.hpp"

namespace spead::wire::test {

/// Returns the random packets that a test reads: DPDK_SPEAD_FORMAT_PACKETS, if it is set.
inline std::uint64_t random_packets() {
    constexpr std::uint64_t kUsual = 400'000;
    const char* const asked = std::getenv("DPDK_SPEAD_FORMAT_PACKETS");
    return asked != nullptr ? std::strtoull(asked, nullptr, 10) : kUsual;
}

/// Makes random declarations that pass check(), and packets for them that often obey.
class RandomFormat {
  public:
    explicit RandomFormat(std::uint64_t seed) : random_(seed) {}

    PacketFormat format() {
        for (;;) {
            const PacketFormat f = any();
            try {
                f.check();
                return f;
            } catch (const UsageError&) {
            }
        }
    }

    /// Returns a datagram: as long as the header, give or take, and sometimes with the required values.
    std::vector<std::uint8_t> datagram(const PacketFormat& format) {
        const std::size_t header = format.prefix + format.header;
        std::vector<std::uint8_t> d(below(8) == 0 ? below(header + 1) : header + below(64));
        for (auto& byte : d)
            byte = below(4) == 0 ? 0 : static_cast<std::uint8_t>(random_());
        if (d.size() < header)
            return d;
        if (below(8) != 0)
            for (const auto& c : format.required)
                put(format, c, d);
        for (const auto& c : format.invalid)
            if (below(4) == 0)
                put(format, c, d);
        return d;
    }

  private:
    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    PacketFormat any() {
        PacketFormat f;
        f.header = 8 + below(40);
        f.prefix = below(3) == 0 ? below(16) : 0;
        for (std::uint64_t n = 1 + below(5); n > 0; n--) {
            PacketFormat::Field field;
            field.name = "f" + std::to_string(n);
            field.bytes = 1U << below(4);
            field.at = below(f.header);
            field.little = below(2) == 0;
            field.shift = below(2) == 0 ? 0 : static_cast<unsigned>(below(8 * field.bytes));
            field.mask = below(2) == 0 ? ~0ULL : ~0ULL >> below(64);
            f.fields.push_back(field);
        }
        f.count = sum(f);
        for (std::uint64_t n = below(4); n > 0; n--)
            f.items.push_back({PacketFormat::kLeastId + n, sum(f)});
        if (below(2) == 0)
            f.required.push_back(condition(f));
        if (below(2) == 0)
            f.invalid.push_back(condition(f));
        if (below(4) == 0)
            f.length = {below(f.fields.size()), 1 + below(8), below(16)};
        return f;
    }

    PacketFormat::Sum sum(const PacketFormat& f) {
        PacketFormat::Sum sum;
        for (std::uint64_t n = 1 + below(3); n > 0; n--) {
            PacketFormat::Term t;
            t.field = below(f.fields.size());
            t.first = below(3) == 0 ? below(4) : 0;
            t.step = below(3) == 0 ? 1 + below(3) : 1;
            t.truncate = below(2) == 0;
            t.times = 1 + (below(2) == 0 ? 0 : random_() >> below(64));
            sum.push_back(t);
        }
        return sum;
    }

    PacketFormat::Condition condition(const PacketFormat& f) {
        PacketFormat::Condition c;
        c.field = below(f.fields.size());
        for (std::uint64_t n = 1 + below(2); n > 0; n--)
            c.values.push_back(below(4) == 0 ? 0 : random_() & f.fields[c.field].most());
        return c;
    }

    /// Writes one of the values of a condition into a header, bit by bit.
    void put(const PacketFormat& format, const PacketFormat::Condition& c, std::vector<std::uint8_t>& d) {
        const PacketFormat::Field& f = format.fields[c.field];
        const std::uint64_t value = c.values[below(c.values.size())];
        for (unsigned b = f.shift; b < 8 * f.bytes; b++) {
            if ((f.mask >> (b - f.shift) & 1) == 0)
                continue;
            std::uint8_t& byte = d[format.prefix + f.at + (f.little ? b / 8 : f.bytes - 1 - b / 8)];
            const auto bit = static_cast<std::uint8_t>(1U << b % 8);
            byte = (value >> (b - f.shift) & 1) != 0 ? byte | bit : byte & ~bit;
        }
    }

    std::mt19937_64 random_;
};

}  // namespace spead::wire::test
