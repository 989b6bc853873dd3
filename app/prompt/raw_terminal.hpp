// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

struct termios;

namespace spead::app {

/// A terminal whose keys come one by one and unechoed, Ctrl-C included; as it was before on destruction.
/// Nothing happens to what is no terminal.
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
