// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/raw_terminal.hpp"

#include <termios.h>
#include <unistd.h>

namespace spead::app {

RawTerminal::RawTerminal(int fd) : fd_(fd) {
    termios before{};
    if (tcgetattr(fd, &before) != 0)
        return;
    before_ = std::make_unique<termios>(before);
    termios raw = before;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(fd, TCSANOW, &raw);
}

RawTerminal::~RawTerminal() {
    if (before_)
        tcsetattr(fd_, TCSANOW, before_.get());
}

}  // namespace spead::app
