// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "runtime/plan.hpp"
#include "send/packet_writer.hpp"
#include "spead/writers.hpp"

/// Holds the inner parts of writers. Not installed.
namespace spead {

struct Writer::Target {
    /// Opens the destination for a stream. Throws Error.
    std::function<std::unique_ptr<send::PacketWriter>(const runtime::SendPlan&, const std::string& interface)>
        open;
    std::size_t substreams = 0;  ///< 0: the endpoints of the stream
    bool to_ipv6 = false;        ///< where the stream has no endpoints: packets of IPv6 leave
};

namespace door {

class LocalSender;

/// Returns the sender of a stream without a session, whose thread has not begun. `plan` is checked and
/// completed. Throws Error and UsageError.
std::unique_ptr<LocalSender> make_local_sender(runtime::SendPlan& plan, const SendConfig& config,
                                               const Writer& writer);

}  // namespace door
}  // namespace spead
