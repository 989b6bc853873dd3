// SPDX-License-Identifier: BSD-3-Clause
#include "memory/copy_trial.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "base/exceptions.hpp"
#include "memory/copy.hpp"
#include "memory/mapping.hpp"

namespace spead::memory {

namespace {

constexpr std::size_t kPacket = 4096;
constexpr std::size_t kPart = std::size_t{2} << 20;  ///< copied in a measurement
constexpr std::size_t kRounds = 7;
constexpr std::size_t kRoundsOutside = 3;  ///< each takes 15 ms

double ns_per_kib(const PayloadCopy& copy, std::byte* to, const std::byte* from) noexcept {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t at = 0; at < kPart; at += kPacket)
        copy.then(to + at, from + at, kPacket, from + at + kPacket);
    end_streaming();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / (kPart / 1024);
}

/// Holds the memory of a trial: parts that are written in turn, and packets that are read in turn.
class Rotation {
  public:
    /// Writes the memory once, as pages come with their first use. Throws Error.
    Rotation(std::size_t parts, std::size_t packets) : memory_((parts + packets) * kPart), packets_(packets) {
        std::fill_n(memory_.base(), (parts + packets) * kPart, std::byte{1});
    }
    /// Copies to the next of so many parts. Returns what a KiB took.
    double copy(const PayloadCopy& function, std::size_t parts) noexcept {
        const std::byte* const from = memory_.base() + turn_ % packets_ * kPart;
        std::byte* const to = memory_.base() + (packets_ + turn_ % parts) * kPart;
        turn_++;
        return ns_per_kib(function, to, from);
    }
    /// Goes through so many parts and all packets, and a second time for the result: what came before has
    /// left the cache.
    double in_turn(const PayloadCopy& function, std::size_t parts) noexcept {
        const std::size_t turns = std::max(parts, packets_);
        for (std::size_t i = 0; i < turns; i++)
            copy(function, parts);
        double took = 0;
        for (std::size_t i = 0; i < turns; i++)
            took += copy(function, parts);
        return took / static_cast<double>(turns);
    }

  private:
    Mapping memory_;
    std::size_t packets_;  ///< parts
    std::size_t turn_ = 0;
};

/// Returns whether cached stores suit so many parts in turn. Compares the least times of both kinds: what
/// other machines do on the processor adds to the others. In three trials, ratios of least times to 6 MiB
/// were 0.96 to 1.16, and medians of ratios 1.34 to 2.21 (Zen 3).
bool suits(Rotation& rotation, const CopyChoice& copies, std::size_t parts) noexcept {
    double cached = std::numeric_limits<double>::max();
    double streaming = cached;
    for (std::size_t round = 0; round < kRounds; round++) {
        cached = std::min(cached, rotation.in_turn(copies.cached, parts));
        streaming = std::min(streaming, rotation.in_turn(copies.streaming, parts));
    }
    return cached < CopyTrial::kLeastGain * streaming;
}

/// Returns how many parts, of `most`, cached stores may go through in turn; one is not tried.
std::size_t cached_parts(Rotation& rotation, const CopyChoice& copies, std::size_t most) noexcept {
    if (most == 1 || suits(rotation, copies, most))
        return most;
    std::size_t parts = 1;
    while (most - parts > 1) {
        const std::size_t middle = parts + (most - parts) / 2;
        (suits(rotation, copies, middle) ? parts : most) = middle;
    }
    return parts;
}

}  // namespace

CopyTrial try_copies(std::size_t outside, std::size_t share) noexcept {
    const CopyChoice& copies = payload_copies();
    if (!copies.streams())
        return {};
    const std::size_t most = std::max<std::size_t>(share / kPart, 1);
    const std::size_t parts = std::max({outside / kPart, most, std::size_t{2}});
    std::optional<Rotation> rotation;
    try {
        // Packets have a share of the cache as large as that of heaps.
        rotation.emplace(parts, most);
    } catch (const Error&) {
        return {};
    }
    CopyTrial trial{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
    for (std::size_t round = 0; round < kRoundsOutside; round++) {
        trial.cached = std::min(trial.cached, rotation->in_turn(copies.cached, parts));
        trial.streaming = std::min(trial.streaming, rotation->in_turn(copies.streaming, parts));
    }
    if (trial.streaming_pays())
        trial.share = static_cast<double>(cached_parts(*rotation, copies, most)) / static_cast<double>(most);
    return trial;
}

}  // namespace spead::memory
