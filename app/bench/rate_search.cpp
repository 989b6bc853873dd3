// SPDX-License-Identifier: BSD-3-Clause
#include "app/bench/rate_search.hpp"

#include <algorithm>
#include <cmath>

namespace spead::app {

namespace {

/// Returns the probability of `wanted` or more among `n` independent events of probability `p`.
double at_least(unsigned wanted, unsigned n, double p) {
    double sum = 0;
    double ways = 1;  // n over k
    for (unsigned k = 0; k <= n; k++) {
        if (k >= wanted)
            sum += ways * std::pow(p, k) * std::pow(1 - p, n - k);
        ways = ways * (n - k) / (k + 1);
    }
    return sum;
}

}  // namespace

RateSearch::RateSearch(const Options& options)
    : options_(options),
      steps_(std::lround(
          std::ceil(std::log(options.highest / options.lowest) / std::log1p(options.resolution) - 1e-9))),
      bad_(steps_ + 1) {
    narrow();
}

/// Returns the rate of a step. The ends are exactly the range's; between them the steps are equal factors.
double RateSearch::rate_of(long step) const noexcept {
    if (step == steps_)
        return options_.highest;
    return options_.lowest * std::pow(options_.highest / options_.lowest,
                                      static_cast<double>(step) / static_cast<double>(steps_));
}

bool RateSearch::settled(long step) const noexcept {
    if (step < 0 || step > steps_)
        return true;
    const auto found = votes_.find(step);
    return found != votes_.end() && found->second.settled();
}

std::optional<double> RateSearch::next() const noexcept {
    return asked_ ? std::optional(rate_of(*asked_)) : std::nullopt;
}

void RateSearch::report(bool passed) {
    Votes& v = votes_[asked_.value()];
    trials_++;
    (passed ? v.passed : v.failed)++;
    const bool yes = v.passed == options_.agree;
    if (!yes && v.failed <= options_.of - options_.agree)
        return;  // this vote needs more trials
    (yes ? v.for_it : v.against)++;
    v.passed = v.failed = 0;
    if (v.for_it == v.against)
        return;  // a contradiction: the third vote decides
    narrow();
}

/// Computes the bracket and the next rate from the present votes.
void RateSearch::narrow() {
    good_ = -1;
    bad_ = steps_ + 1;
    // Above a rate that is not sustained none is asked for, unless a later vote took that back.
    for (const auto& [step, v] : votes_)
        if (v.sustained()) {
            good_ = step;
        } else {
            bad_ = step;
            break;
        }
    asked_.reset();
    if (bad_ - good_ > 1)
        asked_ = good_ + (bad_ - good_) / 2;
    else if (!settled(good_))
        asked_ = good_;
    else if (!settled(bad_))
        asked_ = bad_;
}

std::optional<double> RateSearch::sustained() const noexcept {
    return good_ < 0 ? std::nullopt : std::optional(rate_of(good_));
}

std::optional<double> RateSearch::refused() const noexcept {
    return bad_ > steps_ ? std::nullopt : std::optional(rate_of(bad_));
}

double RateSearch::confidence(double trial_error) const {
    // A vote errs when enough trials err, in the direction in which fewer are enough.
    const double vote_error = std::max(at_least(options_.agree, options_.of, trial_error),
                                       at_least(options_.of - options_.agree + 1, options_.of, trial_error));
    const double rate_error = at_least(2, 3, vote_error);
    return std::max(0.0, 1 - static_cast<double>(votes_.size()) * rate_error);
}

}  // namespace spead::app
