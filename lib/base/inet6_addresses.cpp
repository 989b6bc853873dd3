// SPDX-License-Identifier: BSD-3-Clause
#include "base/inet6_addresses.hpp"

#include <algorithm>
#include <fstream>
#include <ios>
#include <linux/if_addr.h>
#include <sstream>
#include <string>

namespace spead {

namespace {

/// Returns the number of 16 hexadecimal digits; 0 for other text.
std::uint64_t number_of(const std::string& digits) {
    std::uint64_t number = 0;
    std::istringstream(digits) >> std::hex >> number;
    return number;
}

}  // namespace

std::vector<Inet6Address> inet6_addresses() {
    std::ifstream file("/proc/thread-self/net/if_inet6");
    return inet6_addresses_in(file);
}

std::vector<Inet6Address> inet6_addresses_in(std::istream& text) {
    // "fd000009000000000000000000000001 02 40 00 c0      dut": address, interface, prefix, scope, flags,
    // name.
    std::vector<Inet6Address> all;
    std::string line;
    while (std::getline(text, line)) {
        std::istringstream words(line);
        std::string digits;
        unsigned interface = 0;
        unsigned prefix = 0;
        unsigned scope = 0;
        unsigned flags = 0;
        words >> digits >> std::hex >> interface >> prefix >> scope >> flags;
        if (!words || digits.size() != 32)
            continue;
        const bool failed = (flags & IFA_F_DADFAILED) != 0;
        const bool usable = failed || (flags & IFA_F_OPTIMISTIC) != 0;
        all.push_back({{number_of(digits.substr(0, 16)), number_of(digits.substr(16))},
                       interface,
                       !usable && (flags & IFA_F_TENTATIVE) != 0,
                       (flags & IFA_F_DEPRECATED) != 0,
                       failed,
                       (flags & IFA_F_TEMPORARY) != 0});
    }
    return all;
}

namespace {

/// Returns whether the address is one of this machine's in that state.
bool is_in(bool Inet6Address::*state, const IpAddress& address) {
    if (address.is_v4())
        return false;
    const std::vector<Inet6Address> all = inet6_addresses();
    return std::any_of(all.begin(), all.end(), [&](const Inet6Address& one) {
        return one.*state && address == IpAddress(one.address);
    });
}

}  // namespace

bool is_tentative(const IpAddress& address) {
    return is_in(&Inet6Address::tentative, address);
}

bool is_of_another_host(const IpAddress& address) {
    return is_in(&Inet6Address::failed, address);
}

bool has_tentative(unsigned interface) {
    const std::vector<Inet6Address> all = inet6_addresses();
    return std::any_of(all.begin(), all.end(), [interface](const Inet6Address& one) {
        return one.tentative && one.interface == interface;
    });
}

}  // namespace spead
