// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/byte_order.hpp"
#include "tests/fuzz/fuzz.hpp"

/// Makes seeds of the reference captures (tests/data/reference).
namespace spead::fuzz {

/// Returns a whole file below the source tree. Ends the process when it cannot be read: seeds must not go
/// missing unseen.
inline Input source_file(const std::string& path) {
    const char* const root = std::getenv("DPDK_SPEAD_SOURCE_ROOT");
    const std::filesystem::path full = std::filesystem::path(root == nullptr ? "." : root) / path;
    std::ifstream file(full, std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "cannot read %s: set DPDK_SPEAD_SOURCE_ROOT to the source tree\n", full.c_str());
        std::exit(EXIT_FAILURE);
    }
    return Input((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

inline std::vector<std::string> capture_names() {
    return {"broken",          "descriptors-only", "empty",          "flavours",
            "foreign",         "four-groups",      "ip-forms",       "items-64-48",
            "jumbo-64-48",     "one-item-64-40",   "pointers-split", "pyspead",
            "repeat-pointers", "single-packet",    "start-stop",     "unsized"};
}

/// Returns the first `most` frames of a reference capture that have at most `longest` bytes. They are
/// little-endian files of our own, so their lengths are believed.
inline std::vector<Input> captured_frames(const std::string& name, std::size_t most, std::size_t longest) {
    constexpr std::size_t kFileHeader = 24;
    constexpr std::size_t kRecordHeader = 16;
    const Input file = source_file("tests/data/reference/" + name + ".pcap");
    std::vector<Input> frames;
    for (std::size_t at = kFileHeader; at + kRecordHeader < file.size() && frames.size() < most;) {
        const std::size_t length = __builtin_bswap32(load_be32(&file[at + 8]));
        const auto first = file.begin() + static_cast<std::ptrdiff_t>(at + kRecordHeader);
        if (length <= longest) {
            frames.emplace_back(first, first + static_cast<std::ptrdiff_t>(length));
        }
        at += kRecordHeader + length;
    }
    return frames;
}

}  // namespace spead::fuzz
