// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/notice_address.hpp"

#include <string_view>
#include <sys/un.h>

#include "base/error.hpp"

namespace spead::runtime {

namespace {

constexpr std::string_view kUnixNotices = "unix:";
constexpr std::string_view kTcpNotices = "tcp:";

}  // namespace

NoticeAddress parse_notice_address(const std::string& text, const std::string& where) {
    NoticeAddress address;
    if (text.starts_with(kTcpNotices)) {
        address.tcp = parse_listen_address(std::string_view(text).substr(kTcpNotices.size()), where);
        return address;
    }
    if (!text.starts_with(kUnixNotices) || text.size() == kUnixNotices.size())
        throw_usage(where, "`{}` is no address for notices; give unix:PATH, tcp:PORT or tcp:ADDRESS:PORT",
                    text);
    address.path = text.substr(kUnixNotices.size());
    if (address.path.size() >= sizeof(sockaddr_un::sun_path))
        throw_usage(where, "`{}` is too long for a socket: {} characters of {}; give a shorter path",
                    address.path, address.path.size(), sizeof(sockaddr_un::sun_path) - 1);
    return address;
}

}  // namespace spead::runtime
