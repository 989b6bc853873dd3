// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

/// Tries one input. With -Dlibfuzzer=true (clang) libFuzzer drives this function. Else fuzz_main.cpp mutates
/// seeds(), inputs worth mutating, a fixed number of times, the same every run.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace spead::fuzz {

using Input = std::vector<std::uint8_t>;

std::vector<Input> seeds();

/// Requires that a rule holds for every input. `detail` shows a person the input that broke it.
inline void require(bool holds, const char* rule, std::string_view detail = {}) {
    if (!holds) {
        std::fprintf(stderr, "broken rule: %s\n", rule);
        if (!detail.empty()) {
            std::fprintf(stderr, "by: %.*s\n", static_cast<int>(detail.size()), detail.data());
        }
        std::abort();
    }
}

/// Holds the bytes in a block of exactly their size, so that AddressSanitizer sees a read one past the end.
class ExactCopy {
  public:
    explicit ExactCopy(std::span<const std::uint8_t> bytes)
        : bytes_(new std::uint8_t[bytes.size()]), size_(bytes.size()) {
        for (std::size_t i = 0; i < size_; ++i) {
            bytes_[i] = bytes[i];
        }
    }
    const std::uint8_t* data() const { return bytes_.get(); }
    std::size_t size() const { return size_; }

  private:
    std::unique_ptr<std::uint8_t[]> bytes_;
    std::size_t size_;
};

}  // namespace spead::fuzz
