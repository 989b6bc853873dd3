// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>
#include <termios.h>
#include <unistd.h>
#include <vector>

#include "app/top/top_frame.hpp"
#include "base/line_output.hpp"

namespace spead::app {

/// A full-screen program's terminal (standard input and output): keys come one by one, the picture is on a
/// screen of its own. The destructor gives the terminal back as it was, also when a signal ends the program
/// or stops it for a while.
///
/// One at a time, on the main thread, before other threads begin: it takes the signals that end, stop and
/// resize.
class TopTerminal {
  public:
    /// Throws Error when standard input or output is no terminal.
    TopTerminal();
    ~TopTerminal();
    TopTerminal(const TopTerminal&) = delete;
    TopTerminal& operator=(const TopTerminal&) = delete;

    TopSize size() const;
    /// Does nothing while the terminal has not taken the last picture (Ctrl-S). Does not wait for it.
    void draw(const TopFrame& frame);

    enum class News {
        time,    ///< nothing happened in the time given
        keys,    ///< `keys()` has them
        redraw,  ///< another size, or back from a stop
        end      ///< a signal that ends, or the terminal has gone
    };
    News wait(std::chrono::milliseconds longest);
    /// What was typed, as it came; emptied.
    std::string keys();

  private:
    void enter();
    void leave() noexcept;

    int signals_ = -1;
    termios before_{};
    LineOutput out_{STDOUT_FILENO};
    std::string typed_;
};

}  // namespace spead::app
