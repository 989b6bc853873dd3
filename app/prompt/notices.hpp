// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "app/prompt/line.hpp"

/// What those at a prompt are told without having asked.
namespace spead::app {

/// What one of them has not read yet. Any thread may tell, and waits for nobody; one reads.
class Ear {
  public:
    /// Throws Error when the system has no event descriptor left.
    Ear();
    Ear(const Ear&) = delete;
    Ear& operator=(const Ear&) = delete;

    /// `line` has no newline. Of more than kMost unread ones the oldest go, which take() says.
    void tell(std::string_view line);
    /// All that is unread, a newline behind each.
    std::string take();
    /// Readable while something is unread.
    int fd() const { return event_.get(); }

    static constexpr std::size_t kMost = 100;

  private:
    Descriptor event_;
    std::mutex mutex_;
    std::vector<std::string> lines_;
    std::size_t lost_ = 0;
};

/// Tells every ear that listens.
class Notices {
  public:
    void tell(std::string_view line);

    /// Listens from construction to destruction; `to` outlives it.
    class Listening {
      public:
        Listening(Notices& notices, Ear& to);
        ~Listening();
        Listening(const Listening&) = delete;
        Listening& operator=(const Listening&) = delete;

      private:
        Notices& notices_;
        Ear& to_;
    };

  private:
    std::mutex mutex_;
    std::vector<Ear*> ears_;
};

}  // namespace spead::app
