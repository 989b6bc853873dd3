// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Finds the reasons of EAL's errors: its functions return -1 and give the reason only in the log.
namespace spead::port {

/// Captures the log of EAL and the PMDs in memory during its life. Control code; one at a time. Lines that
/// other threads log meanwhile are captured too, and passed on at the end.
class LogCapture {
  public:
    LogCapture();
    ~LogCapture();
    LogCapture(const LogCapture&) = delete;
    LogCapture& operator=(const LogCapture&) = delete;

    /// Takes the lines so far, without repeats and function names, joined with "; ". They will not be passed
    /// on.
    std::string take_reason();
    /// Forgets the lines so far.
    void discard();
    /// Excludes lines with `text` from the reason; they are not passed on.
    void leave_out(std::string text) { left_out_.push_back(std::move(text)); }

  private:
    void flush();
    bool is_left_out(std::string_view line) const;

    char* text_ = nullptr;
    std::size_t size_ = 0;
    std::size_t passed_ = 0;
    std::FILE* memory_ = nullptr;
    std::FILE* before_ = nullptr;
    std::vector<std::string> left_out_;
};

}  // namespace spead::port
