// SPDX-License-Identifier: BSD-3-Clause
#include "app/prompt/history_search.hpp"

#include <string_view>

#include <fmt/core.h>

namespace spead::app {

namespace {

constexpr char kCancelKey = 0x03;  // Ctrl-C
constexpr char kGiveUpKey = 0x07;  // Ctrl-G
constexpr char kBackspaceKey = 0x08;
constexpr char kOlderKey = 0x12;  // Ctrl-R
constexpr char kDeleteKey = 0x7F;

}  // namespace

void HistorySearch::begin() {
    on_ = true;
    failed_ = false;
    wanted_.clear();
    found_.clear();
    at_ = 0;
}

/// Finds the next line from there that contains the searched text; else keeps the found one.
void HistorySearch::look(unsigned from) {
    if (wanted_.empty())
        return;
    for (unsigned i = from;; i++) {
        const char* const line = item_(i);
        failed_ = line == nullptr;
        if (failed_)
            return;
        const std::string_view text = line;
        if (text.find(wanted_) == std::string_view::npos)
            continue;
        found_ = text.substr(0, text.find('\n'));
        at_ = i;
        return;
    }
}

HistorySearch::Key HistorySearch::feed(char c) {
    switch (c) {
        case kOlderKey:
            look(found_.empty() ? 0 : at_ + 1);
            return Key::more;
        case kBackspaceKey:
        case kDeleteKey:
            if (!wanted_.empty())
                wanted_.pop_back();
            found_.clear();
            failed_ = false;
            look(0);
            return Key::more;
        case '\r':
        case '\n':
            on_ = false;
            return Key::run;
        case kCancelKey:
        case kGiveUpKey:
            on_ = false;
            return Key::leave;
        default:
            break;
    }
    if (static_cast<unsigned char>(c) < 0x20) {
        on_ = false;
        return Key::take;
    }
    wanted_ += c;
    look(at_);
    return Key::more;
}

std::string HistorySearch::text() const {
    return fmt::format("({}search) `{}`: {}", failed_ ? "nothing older; " : "", wanted_, found_);
}

}  // namespace spead::app
