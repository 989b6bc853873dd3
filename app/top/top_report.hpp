// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "app/top/top_frame.hpp"
#include "base/outcome.hpp"
#include "observe/json.hpp"
#include "stats/rates.hpp"

/// Reads the values of `top` out of reports. Members that are absent or of another kind count as nothing,
/// since the process may be of another version. Pure.
namespace spead::app {

using observe::Json;

/// Lists the outcomes of a stream's packets that count as losses.
inline constexpr std::array kLosses{PacketOutcome::late,         PacketOutcome::malformed,
                                    PacketOutcome::oversize,     PacketOutcome::heap_too_big,
                                    PacketOutcome::inconsistent, PacketOutcome::out_of_order,
                                    PacketOutcome::no_memory,    PacketOutcome::no_item,
                                    PacketOutcome::bad_length,   PacketOutcome::bad_step,
                                    PacketOutcome::out_of_range, PacketOutcome::rejected,
                                    PacketOutcome::no_chunk,     PacketOutcome::future,
                                    PacketOutcome::invalid,      PacketOutcome::header_in_device};

const Json& member(const Json& from, std::string_view name);
std::uint64_t count(const Json& from, std::string_view name);
double real(const Json& from, std::string_view name);
std::string text(const Json& from, std::string_view name);

std::uint64_t lost_packets(const Json& stream);
std::uint64_t lost_heaps(const Json& stream);
std::uint64_t nic_lost(const Json& port);
std::uint64_t refused(const Json& port);

/// Returns the condition of a stream, a sender or a port: its state if that is not the usual one, else its
/// health. Empty if unknown.
std::string condition(const Json& part);

/// Returns 0 to 1; none if the whole is 0.
std::optional<double> share(double part, double whole);
std::string percent(std::optional<double> part);
/// Returns "[|||       ] 28 %".
std::string bar(std::optional<double> part, std::size_t width);

/// Compares two reports.
class Pair {
  public:
    Pair(const TopSample& before, const TopSample& now)
        : before_(before.report),
          now_(now.report),
          seconds_(before.report.is_null()
                       ? 0
                       : real(now.report, "duration_s") - real(before.report, "duration_s")) {}

    const Json& parts(std::string_view kind) const { return member(now_, kind); }

    /// Returns the part's earlier value, for rates; null if there was none.
    const Json& earlier(std::string_view kind, const Json& part, std::string_view key) const {
        static const Json kNothing;
        for (const Json& other : member(before_, kind))
            if (member(other, key) == member(part, key))
                return other;
        return kNothing;
    }

    std::optional<double> rate(const Json& then, std::uint64_t before, std::uint64_t now) const {
        return then.is_null() ? std::nullopt : stats::rate(before, now, seconds_);
    }
    /// Returns the rate of a count that a function takes from a part.
    template <typename Count>
    std::optional<double> rate(std::string_view kind, const Json& part, const Count& of) const {
        const Json& then = earlier(kind, part, "name");
        return rate(then, of(then), of(part));
    }
    /// Returns the sum over all parts, except new ones.
    template <typename Count>
    std::optional<double> sum(std::string_view kind, const Count& of) const {
        std::optional<double> all;
        for (const Json& part : parts(kind))
            if (const auto one = rate(kind, part, of))
                all = all.value_or(0) + *one;
        return all;
    }

  private:
    const Json& before_;
    const Json& now_;
    double seconds_;
};

/// Returns the busy part of all time between two reports of an lcore.
std::optional<double> load_of(const Json& then, const Json& now);

// Rates as text, "-" where there is none.
std::string bits(std::optional<double> rate);
std::string packets(std::optional<double> rate);
std::string events(std::optional<double> rate);

}  // namespace spead::app
