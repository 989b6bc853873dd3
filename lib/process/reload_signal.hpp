// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace spead::process {

/// Receives SIGHUP as a request to read the configuration again. Without this object, SIGHUP is one of the
/// StopSignals. Made before any thread, so that all keep it blocked.
class ReloadSignal {
  public:
    explicit ReloadSignal(bool wanted);
    ~ReloadSignal();
    ReloadSignal(const ReloadSignal&) = delete;
    ReloadSignal& operator=(const ReloadSignal&) = delete;

    /// Returns whether one came since the last call.
    bool take() noexcept;

  private:
    int fd_ = -1;
};

}  // namespace spead::process
