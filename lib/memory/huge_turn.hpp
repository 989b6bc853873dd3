// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>

namespace spead::memory {

/// While it lives, no other process of this program and user counts or takes huge pages: what was counted as
/// free is still free when it is taken. Control world; not to be nested. Processes that wait in vain (5 s by
/// default), and those whose user has no directory of their own (/run for root, $XDG_RUNTIME_DIR for others),
/// go on without: their pages may go to another process meanwhile, and that fails with a message.
class HugePageTurn {
  public:
    HugePageTurn() : HugePageTurn(own_directory(), std::chrono::seconds(5)) {}
    /// `directory` is one that other users cannot write to; empty: there is none.
    HugePageTurn(const std::string& directory, std::chrono::milliseconds patience);
    ~HugePageTurn();
    HugePageTurn(const HugePageTurn&) = delete;
    HugePageTurn& operator=(const HugePageTurn&) = delete;

    bool held() const noexcept { return fd_ >= 0; }

    static std::string own_directory();

  private:
    bool take();

    std::string path_;
    int fd_ = -1;  ///< of the file at path_, which is there as long as somebody has the turn
};

}  // namespace spead::memory
