// SPDX-License-Identifier: BSD-3-Clause
#include "base/listen_address.hpp"

#include <charconv>

#include <fmt/core.h>

#include "base/error.hpp"

namespace spead {

ListenAddress parse_listen_address(std::string_view text, const std::string& where) {
    ListenAddress listen;
    std::string_view port = text;
    if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
        listen.address = parse_ipv4(text.substr(0, colon), where);
        port = text.substr(colon + 1);
        if (listen.address.is_multicast())
            throw_usage(where,
                        "`{}` is a multicast group; give an address of this machine, as in 127.0.0.1:9100",
                        text);
    }
    const char* const end = port.data() + port.size();
    const auto [stop, error] = std::from_chars(port.data(), end, listen.port);
    if (port.empty() || error != std::errc{} || stop != end)
        throw_usage(
            where,
            "`{}` is not a TCP port; give ADDRESS:PORT or PORT, from 0 (any that is free) to 65535, as in "
            "127.0.0.1:9100",
            port);
    return listen;
}

std::string to_string(const ListenAddress& listen) {
    return fmt::format("{}:{}", to_string(listen.address), listen.port);
}

}  // namespace spead
