// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>

namespace spead::memory {

/// Keeps other processes of this program and user from counting or taking huge pages during its life, so that
/// counted free pages are still free when they are taken. Control code; not to be nested. Processes that wait
/// in vain (5 s by default), and those whose user has no directory of their own (/run for root,
/// $XDG_RUNTIME_DIR for others), go on without it. Their pages may then go to another process, and that fails
/// with a message.
class HugePageTurn {
  public:
    HugePageTurn() : HugePageTurn(own_directory(), std::chrono::seconds(5)) {}
    /// Takes the turn. Other users cannot write `directory`; empty: there is none.
    HugePageTurn(const std::string& directory, std::chrono::milliseconds patience);
    ~HugePageTurn();
    HugePageTurn(const HugePageTurn&) = delete;
    HugePageTurn& operator=(const HugePageTurn&) = delete;

    bool held() const noexcept { return fd_ >= 0; }

    static std::string own_directory();

  private:
    bool take();

    std::string path_;
    int fd_ = -1;  ///< of the file at path_, which exists while a process has the turn
};

}  // namespace spead::memory
