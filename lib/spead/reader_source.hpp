// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "recv/datagram_queue.hpp"
#include "recv/packet_reader.hpp"
#include "runtime/plan.hpp"
#include "spead/local_receiver.hpp"
#include "spead/readers.hpp"

/// Holds the inner parts of readers. Not installed.
namespace spead {

struct InprocQueue::State {
    State(std::size_t most, std::size_t most_bytes) : queue(most, most_bytes) {}
    recv::DatagramQueue queue;
};

struct Reader::Source {
    /// Opens the source for a stream; null: there is none. Throws Error.
    std::function<std::unique_ptr<recv::PacketReader>(const runtime::ReceivePlan&,
                                                      const std::string& interface)>
        open;
    bool needs_endpoints = false;  ///< its packets have destinations
};

namespace door {

/// Adds what a stream without a session may leave out: its name, and the endpoint of packets that have no
/// destination. Throws UsageError for `held_buffers`, which only a port has.
RecvConfig complete_local(RecvConfig config, const Reader& reader);

/// Returns what opens one more reader of the stream. Throws UsageError if its kind differs: streams whose
/// packets have destinations, and others, do not mix.
LocalReceiver::MakeReader one_more(const Reader& reader, const std::string& where, bool has_destinations);

/// Returns the source and the filter of a stream without a session.
LocalReceiver::Parts local_parts(const runtime::ReceivePlan& plan, const RecvConfig& config,
                                 const Reader& reader);

/// Returns the configuration. Throws UsageError unless the stream can do without a session.
const RecvConfig& need_kernel_backend(const RecvConfig& config);

}  // namespace door
}  // namespace spead
