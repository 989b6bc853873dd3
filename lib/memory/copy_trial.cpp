// SPDX-License-Identifier: BSD-3-Clause
#include "memory/copy_trial.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "base/exceptions.hpp"
#include "memory/copy.hpp"
#include "memory/mapping.hpp"

namespace spead::memory {

namespace {

constexpr std::size_t kPacket = 4096;
constexpr std::size_t kPart = std::size_t{2} << 20;  ///< copied in a measurement
constexpr std::size_t kRounds = 7;

double ns_per_kib(CopyFunction copy, std::byte* to, const std::byte* from) noexcept {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t at = 0; at < kPart; at += kPacket)
        copy(to + at, from + at, kPacket);
    end_streaming();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / (kPart / 1024);
}

double median(std::array<double, kRounds> values) noexcept {
    std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
    return values[kRounds / 2];
}

}  // namespace

CopyTrial try_copies(std::size_t bytes) noexcept {
    const CopyChoice& copies = payload_copies();
    if (!copies.streams())
        return {};
    const std::size_t parts = std::max<std::size_t>(bytes / kPart, 2);
    std::optional<Mapping> memory;
    try {
        memory.emplace((parts + 1) * kPart);
    } catch (const Error&) {
        return {};
    }
    const std::byte* const packets = memory->base() + parts * kPart;
    // The memory is written once, as pages come with their first use. Then its parts have their turns.
    for (std::size_t part = 0; part <= parts; part++)
        std::fill_n(memory->base() + part * kPart, kPart, std::byte{1});
    std::array<double, kRounds> cached;
    std::array<double, kRounds> streaming;
    std::size_t part = 0;
    const auto next = [&] { return memory->base() + (part++ % parts) * kPart; };
    for (std::size_t round = 0; round < kRounds; round++) {
        cached[round] = ns_per_kib(copies.cached, next(), packets);
        streaming[round] = ns_per_kib(copies.streaming, next(), packets);
    }
    return {median(cached), median(streaming)};
}

}  // namespace spead::memory
