// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string_view>

#include "app/top/top_frame.hpp"
#include "app/top/top_terminal.hpp"

/// Shows pictures, whatever they are of: a process (`top`), or many hosts (`top --fleet`).
namespace spead::app {

/// Makes a picture of what was looked at last.
using MakeFrame = std::function<TopFrame(const TopView& view, const TopSize& size)>;

/// Prints a picture as text, as wide as the terminal, or 160 columns where there is none.
void print_picture(TopView view, const MakeFrame& frame);

/// Shows pictures until a key or a signal ends them, or `look` returns false. Calls `look` at once, then
/// every `interval` seconds, and when the user asks for it.
void show_pictures(TopTerminal& terminal, TopView view, double interval, const std::function<bool()>& look,
                   const MakeFrame& frame);

/// Applies keys to the picture. Returns true when they end it. `most_scroll` is the last frame's.
bool press(std::string_view keys, TopView& view, std::size_t most_scroll);

}  // namespace spead::app
