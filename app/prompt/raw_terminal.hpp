// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

struct termios;

namespace spead::app {

/// Sets a terminal to deliver keys one by one and unechoed, Ctrl-C included; restores it on destruction. Does
/// nothing to other files.
class RawTerminal {
  public:
    explicit RawTerminal(int fd);
    ~RawTerminal();
    RawTerminal(const RawTerminal&) = delete;
    RawTerminal& operator=(const RawTerminal&) = delete;

  private:
    int fd_;
    std::unique_ptr<termios> before_;  ///< null: no terminal
};

}  // namespace spead::app
