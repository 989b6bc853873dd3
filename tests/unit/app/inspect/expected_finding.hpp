// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gmock/gmock.h>
#include <string_view>

#include <gtest/gtest.h>

#include "app/inspect/findings.hpp"

namespace spead::app {

/// What a finding should say; one that is ok needs no mending.
inline void expect(const Finding& finding, Verdict verdict, std::string_view text,
                   std::string_view mend = {}) {
    EXPECT_EQ(finding.verdict, verdict) << finding.text;
    EXPECT_THAT(finding.text, testing::HasSubstr(std::string(text)));
    EXPECT_THAT(finding.mend, testing::HasSubstr(std::string(mend)));
    if (verdict == Verdict::ok) {
        EXPECT_EQ(finding.mend, "");
    }
}

}  // namespace spead::app
