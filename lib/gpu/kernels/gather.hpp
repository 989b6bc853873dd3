// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Copies one piece by the 32 lanes of a warp. Written once: clang compiles it for GPUs, and the tests'
/// compiler for the host, where it is held against memcpy. So it includes nothing, and the kernels' compiler
/// needs no SDK.
namespace spead::gpu {
namespace kernels {

/// Describes bytes to copy, by addresses of the GPU. Any alignment. Laid out as gather::Piece, which the
/// kernels' compiler does not see.
struct Piece {
    unsigned long long from = 0;
    unsigned long long to = 0;
    unsigned length = 0;  ///< bytes; 0 is allowed
    unsigned unused = 0;
};

#ifdef __CUDA__
#define SPEAD_ON_GPU __attribute__((device))
/// Keeps arrays in registers, which have no indices.
#define SPEAD_UNROLLED _Pragma("unroll")
#else
#define SPEAD_ON_GPU
#define SPEAD_UNROLLED
#endif

inline constexpr unsigned kLanes = 32;
inline constexpr unsigned kWordBytes = 16;
/// Counts the words that a lane has on their way at once. Reads over PCIe take microseconds.
inline constexpr unsigned kAtOnce = 4;
/// Counts the words of a line of memory, which the GPU reads by one request.
inline constexpr unsigned kLineWords = 8;

typedef unsigned long long Word __attribute__((vector_size(16), may_alias));

/// Returns the 16 bytes from byte `shift` (0 to 15) of `here` on, which end in `after`.
SPEAD_ON_GPU inline Word shifted(Word here, Word after, unsigned shift) {
    const bool upper = shift >= 8;
    const unsigned long long a = upper ? here[1] : here[0];
    const unsigned long long b = upper ? after[0] : here[1];
    const unsigned long long c = upper ? after[1] : after[0];
    const unsigned bits = 8 * (shift % 8);
    // Two steps, since a shift by 64 is undefined.
    return Word{a >> bits | b << 1 << (63 - bits), b >> bits | c << 1 << (63 - bits)};
}

#ifdef __CUDA__
/// Returns what the next lane shows; the last lane, what the first one shows.
SPEAD_ON_GPU inline unsigned long long from_next_lane(unsigned long long shown, unsigned lane) {
    constexpr unsigned kAll = 0xffffffff;
    const int next = static_cast<int>((lane + 1) % kLanes);
    const auto low =
        static_cast<unsigned>(__nvvm_shfl_sync_idx_i32(kAll, static_cast<int>(shown), next, kLanes - 1));
    const auto high = static_cast<unsigned>(
        __nvvm_shfl_sync_idx_i32(kAll, static_cast<int>(shown >> 32), next, kLanes - 1));
    return static_cast<unsigned long long>(high) << 32 | low;
}
#endif

/// Holds the words that lanes have on their way: those of the GPU's own lane, or of all lanes on the host.
#ifdef __CUDA__
inline constexpr unsigned kLanesHere = 1;
#else
inline constexpr unsigned kLanesHere = kLanes;
#endif
using Words = Word[kLanesHere][kAtOnce + 1];

/// Returns the word after word `k` of lane `lane`, whose words are got[here]: it is with the next lane.
SPEAD_ON_GPU inline Word word_after(const Words& got, unsigned here, unsigned lane, unsigned k) {
#ifdef __CUDA__
    // The first lane shows its word of the next row, which follows the last lane's.
    const Word mine = got[here][k];
    const Word ahead = got[here][k + 1];
    const Word shown = lane == 0 ? ahead : mine;
    return Word{from_next_lane(shown[0], lane), from_next_lane(shown[1], lane)};
#else
    (void)here;
    const unsigned next = (lane + 1) % kLanes;
    return next == 0 ? got[next][k + 1] : got[next][k];
#endif
}

/// Copies the words [0, words) from `shift` bytes (0: none) after the aligned `source` on. `lane`: the GPU's
/// own; 0 on the host.
SPEAD_ON_GPU inline void copy_words(const Word* source, Word* target, unsigned words, unsigned shift,
                                    unsigned lane) {
    // The last word ends in one more.
    const long long readable = static_cast<long long>(words) + (shift != 0);
    const auto skew =
        static_cast<long long>(reinterpret_cast<unsigned long long>(source) / kWordBytes % kLineWords);
    for (long long row = -skew; row < words; row += kAtOnce * kLanes) {
        Words got;
        SPEAD_UNROLLED
        for (unsigned here = 0; here < kLanesHere; here++) {
            SPEAD_UNROLLED
            for (unsigned k = 0; k <= kAtOnce; k++) {
                const long long i = row + k * kLanes + lane + here;
                const bool wanted =
                    i >= 0 && i < readable && (k < kAtOnce || (shift != 0 && lane + here == 0));
                got[here][k] = wanted ? source[i] : Word{};
            }
        }
        SPEAD_UNROLLED
        for (unsigned k = 0; k < kAtOnce; k++) {
            SPEAD_UNROLLED
            for (unsigned here = 0; here < kLanesHere; here++) {
                const long long i = row + k * kLanes + lane + here;
                Word word = got[here][k];
                if (shift != 0)
                    word = shifted(word, word_after(got, here, lane + here, k), shift);
                if (i >= 0 && i < words)
                    target[i] = word;
            }
        }
    }
}

/// Copies the bytes [0, head) and [tail, length): half of the lanes for each.
SPEAD_ON_GPU inline void copy_ends(const unsigned char* from, unsigned char* to, unsigned length,
                                   unsigned head, unsigned tail, unsigned lane) {
    const unsigned at = lane < kWordBytes ? lane : tail + lane - kWordBytes;
    if (lane < kWordBytes ? at < head : at < length)
        to[at] = from[at];
}

/// Copies lane `lane`'s share of a piece. All lanes of a warp call it, with the same piece; on the host, one
/// call with lane 0 is the whole warp. Reads no word of 16 bytes that holds none of the piece.
SPEAD_ON_GPU inline void copy_piece(const Piece& piece, unsigned lane) {
    const auto* const from = reinterpret_cast<const unsigned char*>(piece.from);
    auto* const to = reinterpret_cast<unsigned char*>(piece.to);
    const unsigned to_boundary = static_cast<unsigned>(0 - piece.to) % kWordBytes;
    const unsigned head = to_boundary < piece.length ? to_boundary : piece.length;
    const unsigned words = (piece.length - head) / kWordBytes;
    const unsigned tail = head + words * kWordBytes;
#ifdef __CUDA__
    copy_ends(from, to, piece.length, head, tail, lane);
#else
    for (unsigned here = 0; here < kLanesHere; here++)
        copy_ends(from, to, piece.length, head, tail, lane + here);
#endif
    if (words == 0)
        return;
    const unsigned shift = static_cast<unsigned>(piece.from + head) % kWordBytes;
    copy_words(reinterpret_cast<const Word*>(from + head - shift), reinterpret_cast<Word*>(to + head), words,
               shift, lane);
}

}  // namespace kernels
}  // namespace spead::gpu
