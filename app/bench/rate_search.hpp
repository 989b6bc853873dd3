// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <optional>

/// Finds the highest rate that a link sustains, by trials each of which may be wrong.
namespace spead::app {

/// Bisects a grid of rates, each `resolution` above the one before. The answer at a rate is a vote, and no
/// answer counts until it was given twice.
///
/// A vote at a rate is up to `of` trials: the rate is sustained when `agree` of them pass. Once the highest
/// sustained rate and the lowest other one are neighbours, both are voted on again. If the second vote
/// contradicts the first, a third decides, and the search goes on from there. So a result is wrong only if
/// two of three votes at one rate were. Pure: no clock, no I/O; the caller carries the trials out:
///
///     while (const auto rate = search.next())
///         search.report(trial(*rate));
class RateSearch {
  public:
    struct Options {
        double lowest = 0;         ///< rates in any unit; above 0
        double highest = 0;        ///< at least `lowest`
        double resolution = 0.02;  ///< relative, above 0
        unsigned agree = 2;        ///< 1 to `of`
        unsigned of = 3;
        bool operator==(const Options&) const = default;
    };

    /// Takes the options, which must be in their ranges.
    explicit RateSearch(const Options& options);

    /// Returns the rate of the next trial; none: the search is over.
    std::optional<double> next() const noexcept;
    /// Notes the result of that trial. There must have been one to do.
    void report(bool passed);

    /// Returns the highest rate sustained so far; none: not even the lowest.
    std::optional<double> sustained() const noexcept;
    /// Returns the lowest rate above that is not sustained; none: the highest of the range is.
    std::optional<double> refused() const noexcept;
    std::size_t trials() const noexcept { return trials_; }

    /// Returns the least probability that a finished search is right about every rate it tried, if each trial
    /// errs with `trial_error`, independently of the others. Then the true rate lies between sustained() and
    /// refused().
    double confidence(double trial_error) const;

  private:
    /// Holds the votes on one rate of the grid.
    struct Votes {
        unsigned for_it = 0;
        unsigned against = 0;
        // The vote that is being taken.
        unsigned passed = 0;
        unsigned failed = 0;

        bool sustained() const noexcept { return for_it > against; }
        bool settled() const noexcept { return for_it == 2 || against == 2; }
    };

    double rate_of(long step) const noexcept;
    bool settled(long step) const noexcept;
    void narrow();

    Options options_;
    long steps_;  ///< the grid is 0 to steps_
    std::map<long, Votes> votes_;
    long good_ = -1;  ///< highest step sustained below bad_; -1: none
    long bad_;        ///< lowest step not sustained; steps_ + 1: none
    std::optional<long> asked_;
    std::size_t trials_ = 0;
};

}  // namespace spead::app
