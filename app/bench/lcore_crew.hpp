// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace spead::app {

/// Gives the same work to several lcores at the same time, for a benchmark. On an initialised EAL.
class LcoreCrew {
  public:
    /// Does an lcore's part of the work; numbers count from 0. Returns when it was done, in ticks. Throws
    /// nothing.
    using Work = std::function<std::uint64_t(unsigned number)>;

    /// Says which lcores work.
    enum class Where : std::uint8_t {
        here,     ///< the calling one, alone
        workers,  ///< worker lcores of EAL
    };

    /// Takes the first `lcores` of them. Throws UsageError when EAL has fewer.
    LcoreCrew(unsigned lcores, Where where);

    unsigned lcores() const noexcept { return lcores_; }
    /// Returns the CPU of lcore `number`.
    unsigned cpu_of(unsigned number) const;
    /// Returns the CPUs of all.
    std::vector<unsigned> all_cpus() const;
    /// Returns the CPUs that they run on; fewer than lcores: they share.
    unsigned cpus() const noexcept { return cpus_; }
    bool shares_cpus() const noexcept { return cpus_ < lcores_; }

    /// Lets all lcores begin, and sleeps until all have returned. Returns the ticks from the first one's
    /// begin to the last one's end. Throws Error when EAL does not start the work.
    std::uint64_t run(const Work& work);
    /// Waits a moment for another lcore. On a CPU that lcores share, that one gets it.
    void pause() const noexcept;

  private:
    unsigned lcores_;
    unsigned cpus_ = 1;
    std::vector<unsigned> workers_;  ///< ids of EAL; none: the calling one
};

/// Returns which lcores EAL makes for so many workers, "0@0,1@1,2@0": the main lcore on the first of `cpus`,
/// and the workers from the last one down, or from `first` down. If there are more of them than CPUs, they
/// share.
std::string crew_lcores(const std::vector<unsigned>& cpus, unsigned first, unsigned workers);

}  // namespace spead::app
