// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <spead/error.hpp>
#include <string>
#include <string_view>

namespace spead {

/// Directs the log of the library and of DPDK, which belongs to the operating system process. Any thread.
class SPEAD_API Log {
  public:
    enum class Level : std::uint8_t { critical, error, warning, notice, info, debug };
    /// Takes a line without its newline: "spead.recv: ..." for the library's, anything for DPDK's.
    using Reader = std::function<void(Level level, std::string_view line)>;

    /// Sends lines to the reader instead of standard error from now on; null: back to standard error. The
    /// reader is called on the thread that logs, one line at a time, and must neither wait nor log. Critical
    /// lines always go to standard error. Returns when the former reader is no longer called.
    static void redirect(Reader reader);
    /// Sets the least level of lines: "error", "warning", "notice", "info" or "debug", or "pattern:level" for
    /// some of DPDK's. Throws UsageError.
    static void set_level(const std::string& level);
};

}  // namespace spead
