// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// Reads an input as a sequence of decisions, for targets with a state: the next operation, and its numbers.
namespace spead::fuzz {

/// Takes numbers and bytes off an input, front to back. At its end all numbers are 0 and all spans empty, so
/// that any prefix of an input is an input.
class Choices {
  public:
    explicit Choices(std::span<const std::uint8_t> input) : rest_(input) {}

    bool empty() const { return rest_.empty(); }

    std::uint8_t byte() {
        if (rest_.empty()) {
            return 0;
        }
        const std::uint8_t value = rest_.front();
        rest_ = rest_.subspan(1);
        return value;
    }
    std::uint16_t word16() {
        const std::uint16_t high = byte();
        return static_cast<std::uint16_t>(high << 8 | byte());
    }
    std::uint32_t word32() {
        const std::uint32_t high = word16();
        return high << 16 | word16();
    }
    bool flag() { return (byte() & 1U) != 0; }
    /// Returns 0 to limit - 1; `limit` is 1 to 256.
    std::size_t below(std::size_t limit) { return byte() % limit; }
    /// Returns as many of the next bytes as there are, `most` at most.
    std::span<const std::uint8_t> bytes(std::size_t most) {
        const auto taken = rest_.first(std::min(most, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }
    std::span<const std::uint8_t> rest() { return bytes(rest_.size()); }
    std::string text(std::size_t most) {
        const auto taken = bytes(most);
        return {taken.begin(), taken.end()};
    }

  private:
    std::span<const std::uint8_t> rest_;
};

}  // namespace spead::fuzz
