// SPDX-License-Identifier: BSD-3-Clause
#include "observe/key_words.hpp"

#include <algorithm>
#include <array>

namespace spead::observe {

namespace {

struct Word {
    std::string_view option;
    std::string_view key;
};

/// Those that advice names.
constexpr std::array kWords{
    Word{"--buffer", "capture.buffer"},
    Word{"--buffer-size", "buffer_size"},
    Word{"--burst-size", "burst_size"},
    Word{"--direct-io", "capture.direct_io"},
    Word{"--file", "file (capture.files)"},
    Word{"--heap-timeout", "heaps.timeout"},
    Word{"--in-order", "in_order"},
    Word{"--lcores", "lcores"},
    Word{"--max-heap-bytes", "heaps.max_bytes"},
    Word{"--max-heaps", "heaps.max_live"},
    Word{"--max-packet-size", "max_packet_size"},
    Word{"--memory", "heaps of [memory]"},
    Word{"--poll", "poll"},
    Word{"--ring-heaps", "heaps.ring"},
    Word{"--snaplen", "capture.snap_length"},
    Word{"--substreams", "substreams"},
};

}  // namespace

std::string with_keys(std::string_view advice) {
    std::string text;
    while (!advice.empty()) {
        const std::size_t at = std::min(advice.find("--"), advice.size());
        text += advice.substr(0, at);
        advice.remove_prefix(at);
        const std::size_t length =
            std::min(advice.find_first_not_of("-abcdefghijklmnopqrstuvwxyz"), advice.size());
        const std::string_view option = advice.substr(0, length);
        const auto* const known =
            std::find_if(kWords.begin(), kWords.end(), [&](const Word& w) { return w.option == option; });
        text += known == kWords.end() ? option : known->key;
        advice.remove_prefix(length);
    }
    return text;
}

}  // namespace spead::observe
