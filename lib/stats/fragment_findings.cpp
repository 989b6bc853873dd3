// SPDX-License-Identifier: BSD-3-Clause
#include "stats/fragment_findings.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/outcome.hpp"
#include "base/setting_limits.hpp"
#include "stats/stream_cures.hpp"

namespace spead::stats {

namespace {

std::string more_datagrams(const PortSnapshot& p, const Advice& advice) {
    const std::uint64_t now = p.settings.reassemble_datagrams;
    if (now >= kMostReassembled)
        return {};
    return now == 0 ? std::string("raise `reassemble_datagrams` of the port")
                    : advice.set_at_start(p, "reassemble_datagrams", "", std::min(2 * now, kMostReassembled),
                                          fmt::format("{}", now));
}

}  // namespace

std::vector<Finding> fragment_findings(const PortSnapshot& p, const Advice& advice) {
    std::vector<Finding> all;
    const auto add = [&](Cause cause, Stage stage, std::uint64_t count, std::string_view unit,
                         std::string what, Cures cures) {
        if (count != 0)
            all.push_back({cause, stage, p.name, count, unit, std::move(what), std::move(cures)});
    };
    const std::uint64_t refused = p.rx[static_cast<std::size_t>(PortOutcome::fragment)];
    const std::uint64_t wanted = std::min(p.reassembly.wanted, refused);
    if (p.reassembly_places == 0) {
        add(Cause::fragments, Stage::network, wanted, "packets",
            "came as IP fragments, which are not reassembled",
            advice.reassemble(p, Advice::FragmentsAre::here));
        add(Cause::fragments, Stage::network, refused - wanted, "packets",
            "came as IP fragments that cannot be reassembled: they are broken, of another protocol than UDP, "
            "for "
            "no stream, behind other headers of IPv6, or whole in one fragment",
            "look at the sender: packets that fit every MTU on the way need no fragments");
    } else {
        add(Cause::fragments, Stage::network, refused, "packets",
            fmt::format("came as IP fragments that cannot be reassembled: they are repeated, broken, for no "
                        "stream, behind other headers of IPv6, {}whole in one fragment",
                        p.reassembly.given_up == 0 ? "or " : "the rest of packets that were given up, or "),
            "look at the sender, and for a loop or other senders to these addresses");
    }
    const ReassemblyCounts& r = p.reassembly;
    add(Cause::datagrams_incomplete, Stage::network, r.given_up - r.too_many - r.crowded_out, "datagrams",
        r.conflicting == 0
            ? std::string("were never whole: some of their fragments did not come within 0.1 s")
            : fmt::format(
                  "were never whole: some of their fragments did not come within 0.1 s, or contradict "
                  "each other ({} of the datagrams)",
                  r.conflicting),
        "look for loss on the way: each lost fragment costs a whole packet; smaller packets lose less");
    add(Cause::too_many_fragments, Stage::network, r.too_many, "datagrams",
        "came in more than 8 fragments, which are the most that can be reassembled",
        "let the sender's packets be at most 8 times as long as the smallest MTU on the way");
    add(Cause::reassembly_full, Stage::lcore, r.crowded_out, "datagrams",
        fmt::format("were given up to make room for others: the port has places for {} that are not whole",
                    p.reassembly_places),
        with(more_datagrams(p, advice), "look for a sender that floods it with fragments"));
    return all;
}

}  // namespace spead::stats
