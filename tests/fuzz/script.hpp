// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "tests/fuzz/fuzz.hpp"

namespace spead::fuzz {

/// Reads an input as a list of numbers: the next steps of a target that carries out operations. Behind its
/// end all numbers are 0.
class Script {
  public:
    explicit Script(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    bool over() const { return at_ >= bytes_.size(); }
    std::uint8_t byte() { return over() ? std::uint8_t{0} : bytes_[at_++]; }
    /// Returns 0 .. limit-1; `limit` is 1 to 65536.
    std::uint32_t below(std::uint32_t limit) {
        const std::uint32_t value = limit <= 256 ? byte() : byte() + 256U * byte();
        return value % limit;
    }
    std::uint32_t between(std::uint32_t least, std::uint32_t most) { return least + below(most - least + 1); }
    /// Returns true about `of_256` times in 256.
    bool chance(std::uint32_t of_256) { return byte() < of_256; }
    template <typename T>
    T one_of(std::initializer_list<T> values) {
        return values.begin()[below(static_cast<std::uint32_t>(values.size()))];
    }

  private:
    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
};

/// Scripts of random numbers, the same every time.
inline std::vector<Input> random_scripts(std::size_t count, std::size_t least, std::size_t most) {
    std::mt19937_64 random(count);
    std::vector<Input> scripts(count);
    for (Input& script : scripts) {
        script.resize(least + random() % (most - least + 1));
        for (std::uint8_t& byte : script) {
            byte = static_cast<std::uint8_t>(random());
        }
    }
    return scripts;
}

}  // namespace spead::fuzz
