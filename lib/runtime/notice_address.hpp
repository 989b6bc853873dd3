// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/listen_address.hpp"

namespace spead::runtime {

/// Says where notices are given out: a Unix socket, or a TCP port.
struct NoticeAddress {
    std::string path{};  ///< of the socket; empty: TCP
    ListenAddress tcp{};
    bool operator==(const NoticeAddress&) const = default;
};

/// Parses "unix:/path", "tcp:PORT" (of 127.0.0.1) or "tcp:ADDRESS:PORT". Throws UsageError that quotes the
/// text.
NoticeAddress parse_notice_address(const std::string& text, const std::string& where = {});

}  // namespace spead::runtime
