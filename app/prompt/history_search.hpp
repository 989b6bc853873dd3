// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace spead::app {

/// Ctrl-R: looks backwards through the lines that were typed for one that contains what is typed now. Pure.
class HistorySearch {
  public:
    /// Returns a line, 0 is the last one; null: there is none.
    using Item = std::function<const char*(unsigned)>;

    explicit HistorySearch(Item item) : item_(std::move(item)) {}

    bool on() const { return on_; }
    void begin();

    enum class Key : std::uint8_t {
        more,   ///< the search goes on
        take,   ///< found() is to be edited, and the key is the editor's
        run,    ///< found() is the line
        leave,  ///< what had been typed before is there again
    };
    /// While it is on.
    Key feed(char c);
    /// Empty: nothing was found.
    const std::string& found() const { return found_; }
    /// Returns what stands in place of the line meanwhile.
    std::string text() const;

  private:
    void look(unsigned from);

    Item item_;
    bool on_ = false;
    bool failed_ = false;  ///< no older line contains `wanted_`
    std::string wanted_;
    std::string found_;
    unsigned at_ = 0;  ///< of found_
};

}  // namespace spead::app
