// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/log.hpp"

namespace spead {

/// Lets so many lines of the same shape through within ten seconds: what others can have a library log as
/// often as they like must not fill the disks. Lines are of one shape when they differ in numbers only. Not
/// thread-safe.
class LineLimiter {
  public:
    static constexpr unsigned kLines = 20;
    static constexpr double kSeconds = 10;
    /// Shapes that are known at a time; of more, those that came least recently are forgotten.
    static constexpr std::size_t kMostShapes = 64;

    /// What to write for a line, which has no newline, at this time: the line, perhaps with a word on others
    /// before it; empty: nothing. Floods that are over since are told of first.
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

/// DPDK's log, with a limit on what DPDK says (the program's own lines have their own: LogLimiter), written
/// to standard error (base/line_output.hpp) and the system's log, or to whoever asked for it.
///
/// One for the process, from install() on, for ever: a thread may log until the process has ended.
/// Thread-safe.
class LogStream {
  public:
    /// Again and again does nothing. Where no stream can be made EAL's own stays.
    static void install() noexcept;

    using Reader = std::function<void(std::string_view line)>;
    /// Lines go to `reader` instead of standard error from now on; null: as before. What is critical or worse
    /// always goes to standard error, since nothing may come after it. Returns when the former reader is not
    /// called any more.
    static void redirect(Reader reader);
};

}  // namespace spead
