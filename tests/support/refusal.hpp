// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "base/error.hpp"

/// Checks of what a user is told.
namespace spead::test {

/// Returns the text of the Error that `action` throws, or nothing if it throws none.
template <typename Action>
std::string refusal(Action&& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

/// Runs `action`, which must throw an Error, and returns its text.
template <typename Action>
std::string error_of(Action&& action) {
    std::string text = refusal(std::forward<Action>(action));
    if (text.empty())
        ADD_FAILURE() << "no Error was thrown";
    return text;
}

/// Runs `action`, which must throw UsageError, and returns its text.
template <typename Action>
std::string usage_error_of(Action action) {
    try {
        action();
    } catch (const UsageError& error) {
        return error.what();
    } catch (const std::exception& error) {
        ADD_FAILURE() << "not a UsageError but: " << error.what();
        return {};
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

/// Runs `action`, which must throw an Error of what could work another time, and returns its text.
template <typename Action>
std::string passing_error_of(Action action) {
    try {
        action();
    } catch (const UsageError& error) {
        ADD_FAILURE() << "a UsageError: " << error.what();
        return {};
    } catch (const Error& error) {
        return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

/// Expects every one of `parts` in `text`.
inline void expect_parts(const std::string& text, std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts)
        EXPECT_NE(text.find(part), std::string::npos) << "`" << part << "` is not in: " << text;
}

/// Expects an Error as above from `action`, with every one of `parts` in its text.
template <typename Action>
void expect_passing_error(Action action, std::initializer_list<std::string_view> parts) {
    expect_parts(passing_error_of(action), parts);
}

/// Expects a UsageError from `action`, with every one of `parts` in its text.
template <typename Action>
void expect_usage_error(Action action, std::initializer_list<std::string_view> parts) {
    expect_parts(usage_error_of(action), parts);
}

}  // namespace spead::test
