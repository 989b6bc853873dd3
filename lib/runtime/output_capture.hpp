// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace spead::runtime {

/// While it lives, what the process writes to its standard output and standard error goes into memory, also
/// by libraries that know no better; at the end it is passed on. Control world, while no other thread writes;
/// one at a time. Does nothing where there is no memory for it.
class OutputCapture {
  public:
    OutputCapture();
    ~OutputCapture();
    OutputCapture(const OutputCapture&) = delete;
    OutputCapture& operator=(const OutputCapture&) = delete;

    /// The lines that went to standard error, without repeats and the program's name. Nothing of either
    /// stream is passed on then.
    std::vector<std::string> take_errors();

  private:
    struct Stream {
        int fd;           ///< 1 or 2
        int before = -1;  ///< where it went; -1: it is not captured
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
