// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <linux/capability.h>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/sanitized.hpp"

namespace spead::test {

/// Says whether the build's sanitizer makes mlock do nothing.
inline constexpr bool kLocksNothing = kAddressSanitizer;

/// Calls `f` in a child process that may lock at most `bytes` of memory, and returns the text that it
/// returns there. "?" if that cannot be had.
inline std::string where_locking_is_limited(rlim_t bytes, const std::function<std::string()>& f) {
    int ends[2];
    if (pipe(ends) != 0)
        return "?";
    const pid_t pid = fork();
    if (pid == 0) {
        // Without this capability the limit holds for root, too.
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct none[2]{};
        const rlimit limit{bytes, bytes};
        std::string text = "?";
        if (syscall(SYS_capset, &header, none) == 0 && setrlimit(RLIMIT_MEMLOCK, &limit) == 0)
            text = f();
        _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    close(ends[1]);
    std::string text;
    char part[4096];
    for (ssize_t n = 0; (n = read(ends[0], part, sizeof(part))) > 0;)
        text.append(part, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    return status == 0 ? text : "?";
}

}  // namespace spead::test
