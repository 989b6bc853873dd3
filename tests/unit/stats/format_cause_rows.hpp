// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tests/unit/stats/cause_row.hpp"
#include "tests/unit/stats/diagnosed_run.hpp"

/// Lists the findings about packets of declared formats, and of another format than the stream's.
namespace spead::stats::test {

inline const CauseRow kFormatCauseRows[] = {
    {"FitsAKnownFormat",
     [](Snapshot& s) {
         s.streams[0].fits_format = "vdif";
         set(s, PacketOutcome::malformed);
     },
     Cause::not_spead,
     Stage::packet,
     "s0: 77 packets",
     {"a sample of these packets fits the format `vdif`: set `format` to vdif", "flavour"}},
    {"SpeadForAFormat",
     [](Snapshot& s) {
         s.streams[0].has_format = true;
         s.streams[0].fits_format = "spead";
         set(s, PacketOutcome::malformed);
     },
     Cause::not_in_format,
     Stage::packet,
     "s0: 77 packets",
     {"begins as packets of SPEAD do", "captured packet"}},
    {"AnotherKnownFormat",
     [](Snapshot& s) {
         s.streams[0].has_format = true;
         s.streams[0].fits_format = "vdif_legacy";
         set(s, PacketOutcome::malformed);
     },
     Cause::not_in_format,
     Stage::packet,
     "s0: 77 packets",
     {"fits the format `vdif_legacy`", "info --formats", "captured packet"}},
    {"NotInFormat",
     [](Snapshot& s) {
         s.streams[0].has_format = true;
         set(s, PacketOutcome::malformed);
     },
     Cause::not_in_format,
     Stage::packet,
     "s0: 77 packets",
     {"`format`", "captured packet"}},
    {"MarkedInvalid",
     [](Snapshot& s) { set(s, PacketOutcome::invalid); },
     Cause::marked_invalid,
     Stage::packet,
     "s0: 77 packets",
     {"marked as invalid", "without `invalid`"}},
};

}  // namespace spead::stats::test
