// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

/// Parses the text by which a descriptor names a numpy type: the repr of a Python dictionary, as in .npy
/// files.
///
///     {'descr': '<u2', 'fortran_order': False, 'shape': (2, 3)}
namespace spead::wire {

/// Holds the meaning of that text. Structured, date, object and void types are not covered.
struct NumpyHeader {
    char byte_order = '|';  ///< '<', '>', or '|' without an order
    char kind = 'u';        ///< b bool, i signed, u unsigned, f float, c complex, S bytes, U UTF-32 text
    std::uint32_t item_size = 1;  ///< bytes, at least 1
    bool fortran_order = false;   ///< the first index runs fastest
    std::vector<std::uint64_t> shape{};

    bool operator==(const NumpyHeader&) const = default;
};

enum class NumpyError : std::uint8_t {
    syntax,             ///< not a valid dictionary literal
    wrong_keys,         ///< not exactly descr, fortran_order and shape
    unsupported_dtype,  ///< a type that NumpyHeader does not cover
    count_
};

std::string_view name_of(NumpyError error) noexcept;

/// Limits the dimensions that are read.
inline constexpr std::size_t kMaxNumpyDimensions = 64;

/// Reads the text, in any order of its keys. Hostile text gives an error; nothing is allocated beyond its
/// size. A native or missing byte order is taken as little-endian.
tl::expected<NumpyHeader, NumpyError> parse_numpy_header(std::string_view text);

/// Returns the text with keys, quotes and spaces as numpy writes them.
std::string to_string(const NumpyHeader& header);

}  // namespace spead::wire
