// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace spead::process {

/// SIGHUP as a wish to read the configuration again. Where it is not wanted it is one of the StopSignals;
/// made before any thread, so that all keep it blocked.
class ReloadSignal {
  public:
    explicit ReloadSignal(bool wanted);
    ~ReloadSignal();
    ReloadSignal(const ReloadSignal&) = delete;
    ReloadSignal& operator=(const ReloadSignal&) = delete;

    /// Whether one came since the last call.
    bool take() noexcept;

  private:
    int fd_ = -1;
};

}  // namespace spead::process
