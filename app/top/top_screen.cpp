// SPDX-License-Identifier: BSD-3-Clause
#include "app/top/top_screen.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/tell.hpp"

namespace spead::app {

namespace {

using Clock = std::chrono::steady_clock;

/// Holds the width of text that goes into a file or a pipe.
constexpr std::size_t kPlainColumns = 160;

}  // namespace

void print_picture(TopView view, const MakeFrame& frame) {
    view.keys = false;
    winsize terminal{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0 && terminal.ws_col > 0;
    for (const std::string& line : frame(view, {known ? terminal.ws_col : kPlainColumns, 0}).lines)
        tell(stdout, "{}\n", line);
}

void show_pictures(TopTerminal& terminal, TopView view, double interval, const std::function<bool()>& look,
                   const MakeFrame& make_frame) {
    const auto step = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(interval));
    Clock::time_point next = Clock::now();
    for (;;) {
        if (Clock::now() >= next) {
            if (!look())
                return;
            next = std::max(next + step, Clock::now());
        }
        const TopFrame frame = make_frame(view, terminal.size());
        view.scroll = std::min(view.scroll, frame.most_scroll);
        terminal.draw(frame);
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
        switch (terminal.wait(std::max(left, std::chrono::milliseconds(0)))) {
            case TopTerminal::News::end:
                return;
            case TopTerminal::News::keys: {
                const std::string keys = terminal.keys();
                if (keys.find(' ') != std::string::npos)
                    next = Clock::now();
                if (press(keys, view, frame.most_scroll))
                    return;
                break;
            }
            case TopTerminal::News::redraw:
            case TopTerminal::News::time:
                break;
        }
    }
}

bool press(std::string_view keys, TopView& view, std::size_t most_scroll) {
    const auto scroll_to = [&](std::size_t row) { view.scroll = std::min(row, most_scroll); };
    const auto turn_to = [&](std::size_t page) {
        view.page = static_cast<TopPage>(page % kTopPages.size());
        view.scroll = 0;
    };
    while (!keys.empty()) {
        std::size_t length = 1;
        char key = keys.front();
        // Cursor keys: ESC [ A, or ESC O A from some terminals.
        if (key == '\x1b' && keys.size() >= 3 && (keys[1] == '[' || keys[1] == 'O')) {
            length = 3;
            key = keys[2] == 'A' ? 'k' : keys[2] == 'B' ? 'j' : '\0';
        }
        keys.remove_prefix(length);
        switch (key) {
            case 'q':
            case 'Q':
            case '\x04':  // Ctrl-D
                return true;
            case '\t':
                turn_to(static_cast<std::size_t>(view.page) + 1);
                break;
            case 's':
                view.sort =
                    static_cast<TopSort>((static_cast<std::size_t>(view.sort) + 1) % kTopSorts.size());
                break;
            case 'r':
                view.reversed = !view.reversed;
                break;
            case 'j':
                scroll_to(view.scroll + 1);
                break;
            case 'k':
                scroll_to(view.scroll - std::min<std::size_t>(view.scroll, 1));
                break;
            case 'h':
            case '?':
                view.keys = !view.keys;
                break;
            default:
                if (key >= '1' && static_cast<std::size_t>(key - '1') < kTopPages.size())
                    turn_to(static_cast<std::size_t>(key - '1'));
        }
    }
    return false;
}

}  // namespace spead::app
