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

/// Owns a full-screen program's terminal (standard input and output): keys come one by one, and the picture
/// is on a screen of its own. The destructor restores the terminal, also when a signal ends the program or
/// stops it for a while.
///
/// One at a time, on the main thread, before other threads begin: it takes the signals that end, stop and
/// resize.
class TopTerminal {
  public:
    /// Takes the terminal. Throws Error when standard input or output is none.
    TopTerminal();
    ~TopTerminal();
    TopTerminal(const TopTerminal&) = delete;
    TopTerminal& operator=(const TopTerminal&) = delete;

    TopSize size() const;
    /// Draws the frame without waiting. Does nothing while the terminal has not taken the last picture
    /// (Ctrl-S).
    void draw(const TopFrame& frame);

    enum class News {
        time,    ///< nothing happened in the given time
        keys,    ///< `keys()` has them
        redraw,  ///< another size, or back from a stop
        end      ///< a signal that ends, or the terminal has gone
    };
    News wait(std::chrono::milliseconds longest);
    /// Returns the typed keys, as they came, and empties them.
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
