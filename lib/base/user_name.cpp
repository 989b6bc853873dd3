// SPDX-License-Identifier: BSD-3-Clause
#include "base/user_name.hpp"

#include <pwd.h>

#include <fmt/core.h>

namespace spead {

std::string user_name(uid_t user) {
    passwd entry{};
    passwd* found = nullptr;
    std::string buffer(4096, '\0');
    if (getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
        return found->pw_name;
    return fmt::format("number {}", user);
}

}  // namespace spead
