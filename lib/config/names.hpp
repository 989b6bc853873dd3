// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "runtime/plan.hpp"

/// Holds the words of the plan's choices, the same in the file and on the command line.
namespace spead::config {

template <typename E>
struct Word {
    E value;
    std::string_view name;
};
template <typename E>
Word(E, std::string_view) -> Word<E>;

inline constexpr std::array kPollModes{Word{runtime::PollMode::busy, "busy"},
                                       Word{runtime::PollMode::adaptive, "adaptive"},
                                       Word{runtime::PollMode::interrupt, "interrupt"}};
inline constexpr std::array kBackends{Word{runtime::Backend::port, "port"},
                                      Word{runtime::Backend::kernel, "kernel"}};
inline constexpr std::array kCopies{Word{memory::CopySetting::automatic, "auto"},
                                    Word{memory::CopySetting::cached, "cached"},
                                    Word{memory::CopySetting::streaming, "streaming"}};
inline constexpr std::array kOnFull{
    Word{runtime::OnFullSetting::automatic, "auto"}, Word{runtime::OnFullSetting::drop_newest, "drop_newest"},
    Word{runtime::OnFullSetting::drop_oldest, "drop_oldest"}, Word{runtime::OnFullSetting::block, "block"}};
inline constexpr std::array kSinkKinds{
    Word{runtime::SinkKind::null, "null"}, Word{runtime::SinkKind::verify, "verify"},
    Word{runtime::SinkKind::file, "file"}, Word{runtime::SinkKind::raw, "raw"},
    Word{runtime::SinkKind::zarr, "zarr"}, Word{runtime::SinkKind::hdf5, "hdf5"},
    Word{runtime::SinkKind::dada, "dada"}};
inline constexpr std::array kOnSinkError{Word{runtime::OnSinkError::stop, "stop"},
                                         Word{runtime::OnSinkError::end, "end"}};
inline constexpr std::array kWays{Word{chunk::Way::automatic, "auto"}, Word{chunk::Way::direct, "direct"},
                                  Word{chunk::Way::tracked, "tracked"}};
inline constexpr std::array kEvictions{Word{chunk::Eviction::lossy, "lossy"},
                                       Word{chunk::Eviction::lossless, "lossless"}};
inline constexpr std::array kChunkMemory{
    Word{runtime::ChunkMemory::host, "host"}, Word{runtime::ChunkMemory::huge, "huge"},
    Word{runtime::ChunkMemory::pinned, "pinned"}, Word{runtime::ChunkMemory::cuda_pinned, "cuda_pinned"}};
inline constexpr std::array kHeapEngines{
    Word{runtime::HeapEngine::none, "none"}, Word{runtime::HeapEngine::cpu, "cpu"},
    Word{runtime::HeapEngine::fake, "fake"}, Word{runtime::HeapEngine::cuda, "cuda"}};
inline constexpr std::array kOffloads{Word{runtime::Offload::software, "software"},
                                      Word{runtime::Offload::automatic, "auto"},
                                      Word{runtime::Offload::hardware, "hardware"}};
inline constexpr std::array kZeroCopy{Word{runtime::ZeroCopySetting::automatic, "auto"},
                                      Word{runtime::ZeroCopySetting::always, "always"},
                                      Word{runtime::ZeroCopySetting::never, "never"}};
inline constexpr std::array kShardScopes{Word{runtime::ShardScope::endpoints, "endpoints"},
                                         Word{runtime::ShardScope::stream, "stream"},
                                         Word{runtime::ShardScope::all, "all"}};
inline constexpr std::array kShardDeals{Word{runtime::ShardDeal::contiguous, "contiguous"},
                                        Word{runtime::ShardDeal::round_robin, "round_robin"}};

inline constexpr std::array kKeptCapabilities{Word{runtime::KeptCapabilities::needed, "needed"},
                                              Word{runtime::KeptCapabilities::all, "all"}};

inline constexpr std::array kHeapPatterns{Word{HeapPattern::none, "none"}, Word{HeapPattern::p1, "p1"},
                                          Word{HeapPattern::p2, "p2"},     Word{HeapPattern::p3, "p3"},
                                          Word{HeapPattern::p3b, "p3b"},   Word{HeapPattern::p4, "p4"}};

/// Holds the words of a type of choices.
template <typename E>
inline constexpr std::array<Word<E>, 0> kWords{};
template <>
inline constexpr auto kWords<runtime::PollMode> = kPollModes;
template <>
inline constexpr auto kWords<runtime::Backend> = kBackends;
template <>
inline constexpr auto kWords<memory::CopySetting> = kCopies;
template <>
inline constexpr auto kWords<runtime::OnFullSetting> = kOnFull;
template <>
inline constexpr auto kWords<runtime::SinkKind> = kSinkKinds;
template <>
inline constexpr auto kWords<runtime::OnSinkError> = kOnSinkError;
template <>
inline constexpr auto kWords<chunk::Way> = kWays;
template <>
inline constexpr auto kWords<chunk::Eviction> = kEvictions;
template <>
inline constexpr auto kWords<runtime::ChunkMemory> = kChunkMemory;
template <>
inline constexpr auto kWords<runtime::HeapEngine> = kHeapEngines;
template <>
inline constexpr auto kWords<runtime::Offload> = kOffloads;
template <>
inline constexpr auto kWords<runtime::ZeroCopySetting> = kZeroCopy;
template <>
inline constexpr auto kWords<runtime::ShardScope> = kShardScopes;
template <>
inline constexpr auto kWords<runtime::ShardDeal> = kShardDeals;
template <>
inline constexpr auto kWords<runtime::KeptCapabilities> = kKeptCapabilities;
template <>
inline constexpr auto kWords<HeapPattern> = kHeapPatterns;

template <typename E, std::size_t N>
constexpr std::string_view name_in(const std::array<Word<E>, N>& words, E value) {
    for (const Word<E>& word : words)
        if (word.value == value)
            return word.name;
    return "?";
}

/// Returns the choice that `text` names. Throws UsageError that lists the choices.
template <typename E, std::size_t N>
E choose(const std::array<Word<E>, N>& words, std::string_view text, std::string_view where) {
    std::array<std::string_view, N> names;
    for (std::size_t i = 0; i < N; i++) {
        if (words[i].name == text)
            return words[i].value;
        names[i] = words[i].name;
    }
    throw UsageError(std::string(where),
                     fmt::format("`{}` is not a choice{}; give {}", text, hint(text, names), list_of(names)));
}

}  // namespace spead::config
