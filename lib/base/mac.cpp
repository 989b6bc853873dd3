// SPDX-License-Identifier: BSD-3-Clause
#include "base/mac.hpp"

#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"

namespace spead {

MacAddress parse_mac(std::string_view text, std::string_view where) {
    constexpr std::size_t kLength = 6 * 3 - 1;
    MacAddress mac{};
    bool good = text.size() == kLength;
    for (std::size_t i = 0; good && i < mac.size(); i++) {
        const char* const digits = text.data() + 3 * i;
        const auto [end, error] = std::from_chars(digits, digits + 2, mac[i], 16);
        good = error == std::errc{} && end == digits + 2 && (i + 1 == mac.size() || *end == ':');
    }
    if (!good)
        throw_usage(std::string(where),
                    "`{}` is not a MAC address; write six pairs of digits, as in "
                    "02:00:5e:10:00:01",
                    text);
    return mac;
}

std::string mac_text(const MacAddress& mac) {
    return fmt::format("{:02x}", fmt::join(mac, ":"));
}

}  // namespace spead
