// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gmock/gmock.h>
#include <string_view>

#include <gtest/gtest.h>

#include "app/inspect/findings.hpp"

namespace spead::app {

/// Expects a finding's verdict, and parts of its text and fix. A finding that is ok needs no fix.
inline void expect(const Finding& finding, Verdict verdict, std::string_view text,
                   std::string_view fix = {}) {
    EXPECT_EQ(finding.verdict, verdict) << finding.text;
    EXPECT_THAT(finding.text, testing::HasSubstr(std::string(text)));
    EXPECT_THAT(finding.fix, testing::HasSubstr(std::string(fix)));
    if (verdict == Verdict::ok) {
        EXPECT_EQ(finding.fix, "");
    }
}

}  // namespace spead::app
