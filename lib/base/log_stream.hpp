// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/log.hpp"

namespace spead {

/// Limits lines of the same shape within ten seconds: messages that others can trigger in a library must not
/// fill the disks. Lines have one shape when they differ in numbers only. Not thread-safe.
class LineLimiter {
  public:
    static constexpr unsigned kLines = 20;
    static constexpr double kSeconds = 10;
    /// Limits the shapes that are known at a time; the ones without recent lines are forgotten.
    static constexpr std::size_t kMostShapes = 64;

    /// Returns the text to write for a line, which has no newline, at this time: the line, perhaps after a
    /// note on others; empty: nothing. Ended floods are reported first.
    std::string pass(std::string_view line, double now_s);

  private:
    struct Shape {
        std::string example;
        double since = 0;
        double last = 0;
        unsigned passed = 0;
        std::uint64_t held_back = 0;
    };
    static std::string shape_of(std::string_view line);
    std::string settle(double now_s);

    std::map<std::string, Shape> shapes_;
};

/// Writes DPDK's log to standard error (base/line_output.hpp) and the system's log, or to a reader. Limits
/// DPDK's lines; the program's own lines have their own limit (LogLimiter).
///
/// One for the process, from install() on, without end: a thread may log until the process has ended.
/// Thread-safe.
class LogStream {
  public:
    /// Installs the stream; further calls do nothing. If no stream can be made, EAL's own stays.
    static void install() noexcept;

    /// Takes a line and its level, RTE_LOG_*; 0: unknown.
    using Reader = std::function<void(int level, std::string_view line)>;
    /// Sends lines to `reader` instead of standard error from now on; null: back to standard error. Critical
    /// or worse lines always go to standard error, since nothing may come after them. Returns when the former
    /// reader is no longer called.
    static void redirect(Reader reader);
};

}  // namespace spead
