// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace spead::app {

/// Searches backwards through the typed lines for one that contains the typed text (Ctrl-R). Pure.
class HistorySearch {
  public:
    /// Returns a line, 0 is the last one; null: it does not exist.
    using Item = std::function<const char*(unsigned)>;

    explicit HistorySearch(Item item) : item_(std::move(item)) {}

    bool on() const { return on_; }
    void begin();

    enum class Key : std::uint8_t {
        more,   ///< the search goes on
        take,   ///< edit found(); the key is the editor's
        run,    ///< found() is the line
        leave,  ///< restore the former line
    };
    /// Takes a key while the search is on.
    Key feed(char c);
    /// Returns the found line; empty: none.
    const std::string& found() const { return found_; }
    /// Returns the text that replaces the line meanwhile.
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
