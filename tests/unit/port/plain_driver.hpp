// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "port/driver.hpp"

namespace spead::port::test {

/// Answers for devices that do not exist, as it is told.
class PlainDriver final : public Driver {
  public:
    std::optional<std::string> why;       ///< there is no peer
    mutable std::uint64_t missed = 0;     ///< since the last call
    mutable std::uint64_t questions = 0;  ///< about the peer

    std::string_view name() const override { return "net_plain"; }
    Capabilities declared() const override { return {}; }
    PreparedDevice plan(const PortRequest&) const override { return {}; }
    std::optional<std::string> why_no_peer(const PreparedDevice&) const override { return why; }
    std::uint64_t take_missed(const PreparedDevice&) const override { return std::exchange(missed, 0); }
    std::uint64_t unfetched(const PreparedDevice&) const override {
        ++questions;
        return 1;
    }
};

}  // namespace spead::port::test
