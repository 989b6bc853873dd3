// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/error.hpp"

/// Checks of what a user is told.
namespace spead::test {

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

/// `action` must throw an Error as above, and its text must hold every one of `parts`.
template <typename Action>
void expect_passing_error(Action action, std::initializer_list<std::string_view> parts) {
    const std::string text = passing_error_of(action);
    for (const std::string_view part : parts)
        EXPECT_NE(text.find(part), std::string::npos) << "`" << part << "` is not in: " << text;
}

/// `action` must throw UsageError, and its text must hold every one of `parts`.
template <typename Action>
void expect_usage_error(Action action, std::initializer_list<std::string_view> parts) {
    const std::string text = usage_error_of(action);
    for (const std::string_view part : parts)
        EXPECT_NE(text.find(part), std::string::npos) << "`" << part << "` is not in: " << text;
}

}  // namespace spead::test
