// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/layout_busy.hpp"

#include <gmock/gmock.h>

namespace spead::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Plan busy_plan() {
    Plan plan;
    plan.receives.resize(1);
    plan.receives[0].name = "beam";
    plan.receives[0].poll = PollMode::busy;
    return plan;
}

/// Returns a layout with the main lcore on CPU 0, and lcores on `workers`. The first of them receives.
Layout layout_of(const std::vector<unsigned>& allowed, const std::vector<unsigned>& workers) {
    Layout layout;
    layout.allowed_cpus = allowed;
    layout.main_cpu = 0;
    for (const unsigned cpu : workers) {
        WorkerLayout& w = layout.workers.emplace_back();
        w.cpu = cpu;
        w.lcore = static_cast<unsigned>(layout.workers.size());
    }
    layout.workers.front().receives = {0};
    return layout;
}

std::vector<std::string> warnings(const Layout& layout) {
    return busy_warnings(busy_plan(), layout);
}

TEST(BusyWarnings, NamesAllThatShareTheOnlyCpu) {
    EXPECT_THAT(warnings(layout_of({0}, {0})),
                ElementsAre(AllOf(HasSubstr("receive beam: its lcore polls without a pause on CPU 0"),
                                  HasSubstr("(the main lcore, sinks, reports and the prompt)"))));
}

TEST(BusyWarnings, NamesTheMainLcoreAlthoughThereAreOtherCpus) {
    EXPECT_THAT(warnings(layout_of({0, 1}, {0})), ElementsAre(HasSubstr("(the main lcore);")));
}

TEST(BusyWarnings, NamesOtherLcoresThatEalPutsThere) {
    EXPECT_THAT(warnings(layout_of({0, 1, 2}, {1, 1})), ElementsAre(HasSubstr("(lcore 2);")));
}

TEST(BusyWarnings, IsSilentWhereNothingIsShared) {
    EXPECT_THAT(warnings(layout_of({0, 1}, {1})), IsEmpty());
    EXPECT_THAT(warnings(layout_of({0, 1, 2}, {1, 2})), IsEmpty());
}

TEST(BusyWarnings, IsSilentAboutLcoresThatPauseOrOnlySend) {
    Plan plan = busy_plan();
    plan.receives[0].poll = PollMode::adaptive;
    EXPECT_THAT(busy_warnings(plan, layout_of({0}, {0})), IsEmpty());
    Layout sends = layout_of({0, 1}, {1, 0});
    sends.workers[1].sends = {0};
    EXPECT_THAT(warnings(sends), IsEmpty());
}

}  // namespace
}  // namespace spead::runtime
