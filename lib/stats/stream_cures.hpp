// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "stats/advice.hpp"
#include "stats/finding.hpp"
#include "stats/snapshot.hpp"

/// Lists what to do about losses of a stream. Pure.
namespace spead::stats {

/// Returns the actions in this order, without empty ones.
Cures with(Cures first, Cures second);
/// Returns the actions that make the stream's consumer faster, by its sink.
Cures faster_consumer(const StreamSnapshot& s, const Advice& advice);
/// Returns the action that gives the stream's sink another directory.
std::string other_directory(const StreamSnapshot& s, const Advice& advice);
/// Returns the actions for a ring of PSRDADA without room.
Cures roomier_ring(const StreamSnapshot& s, const Advice& advice);
/// Returns whether the consumer is always too slow, as far as is known, so that a longer queue does not help.
bool lasts(const StreamSnapshot& s);
/// Returns "; the queue had room at 60 % of the looks: the consumer pauses, or heaps come in bursts", or that
/// it is always too slow. Empty: it was not watched for long.
std::string how_long_slow(const StreamSnapshot& s);
/// Returns the actions for a consumer that is always too slow.
Cures steadily_faster_consumer(const StreamSnapshot& s, const Advice& advice);
/// Returns ", which writes to /data/out,"; empty: the stream's sink writes nowhere.
std::string where_it_writes(const StreamSnapshot& s);
/// Returns the actions for a hand-over queue that is full: a longer one, if the consumer only pauses.
Cures longer_queue(const StreamSnapshot& s, const Advice& advice);
/// Returns the actions that let more heaps be open at a time. `other`: one more; empty: none.
Cures more_live(const StreamSnapshot& s, const Advice& advice, std::string other);
/// Returns the actions that let heaps be larger, with the memory that these need.
Cures larger_heaps(const StreamSnapshot& s, const Advice& advice);
/// Returns the actions that show where this machine may have lost packets of the stream.
Cures where_packets_went(const StreamSnapshot& s, const Advice& advice);

}  // namespace spead::stats
