// SPDX-License-Identifier: BSD-3-Clause
/// Replaces xdp_program.cpp and xdp_rules.cpp in builds without clang or libbpf. net_af_xdp then refuses
/// every port: without our program it would take ARP, IGMP and remote logins away from the machine.
#include "base/error.hpp"
#include "drivers/xdp_program.hpp"
#include "drivers/xdp_rules.hpp"

namespace spead::drivers {

namespace {

constexpr const char* kAbsent = "dpdk-spead was built without its XDP program";

}  // namespace

bool xdp_built() noexcept {
    return false;
}
std::span<const unsigned char> steer_object() noexcept {
    return {};
}
std::optional<AttachedProgram> attached_program(const std::string&) {
    return std::nullopt;
}
void check_xdp_privileges(const std::string&, const std::string& where) {
    throw Error(where, kAbsent);
}
std::string why_no_program(const std::string&, bool) {
    return kAbsent;
}
void check_no_foreign_program(const std::string&, const std::string& where) {
    throw Error(where, kAbsent);
}
// NOLINTNEXTLINE(performance-unnecessary-value-param): the other implementation keeps it.
XdpClaim::XdpClaim(std::string netdev) {
    throw Error(netdev, kAbsent);
}
XdpClaim::~XdpClaim() = default;
std::string XdpClaim::program_path() const {
    return {};
}
std::vector<int> XdpClaim::queue_sockets() const {
    return {};
}
void XdpClaim::loaded() noexcept {}
void XdpClaim::remember() noexcept {}
void XdpClaim::release() noexcept {}
int open_map(const std::string& netdev, const std::string&) {
    throw Error(netdev, kAbsent);
}
std::unique_ptr<port::RuleTable> make_xdp_rules(const std::string& netdev) {
    throw Error(netdev, kAbsent);
}

}  // namespace spead::drivers
