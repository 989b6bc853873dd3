// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace spead::runtime {

/// Captures the standard output and standard error of the process, libraries included, in memory during its
/// life. At its end it passes the output on. Control code, while no other thread writes; one object at a
/// time. If there is no memory for it, it does nothing.
class OutputCapture {
  public:
    OutputCapture();
    ~OutputCapture();
    OutputCapture(const OutputCapture&) = delete;
    OutputCapture& operator=(const OutputCapture&) = delete;

    /// Returns the lines of standard error, without repeats and the program's name. Then neither stream is
    /// passed on.
    std::vector<std::string> take_errors();

  private:
    struct Stream {
        int fd;           ///< 1 or 2
        int before = -1;  ///< original target; -1: not captured
        int memory = -1;
    };

    static void begin(Stream& stream);
    static void end(Stream& stream);
    static std::string text_of(const Stream& stream);

    Stream out_{1};
    Stream error_{2};
    bool pass_on_ = true;
};

}  // namespace spead::runtime
