// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stats/snapshot.hpp"

namespace spead::stats {

/// Returns the sources whose packets came to the stream, the busiest first, as far as the ports have noted
/// them.
std::vector<std::string> senders_to(const Snapshot& snapshot, const std::string& stream);
/// Returns whether the text is an address, and not sender_text() of one that is unknown.
bool is_address(const std::string& source);
/// Returns the address of the sender with this key (sender_key), if a port has noted it; else sender_text().
std::string name_of_sender(const Snapshot& snapshot, std::uint32_t key);
/// Returns "10.0.0.1", or the two busiest and the number of the others: "10.0.0.1, 10.0.0.2 and 3 more".
/// Empty: none is known by its address.
std::string named_senders(const Snapshot& snapshot, const std::string& stream);

}  // namespace spead::stats
