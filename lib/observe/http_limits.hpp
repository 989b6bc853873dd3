// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>

/// Limits clients of HttpServer.
namespace spead::observe::http_limits {

inline constexpr std::size_t kMostClients = 64;
/// Limits the connections of one address. So one host leaves room for others.
inline constexpr std::size_t kMostOfAddress = 48;
/// Limits the streams of events among them.
inline constexpr std::size_t kMostStreams = 8;

/// Limits a request's head, in bytes.
inline constexpr std::size_t kLongestHead = 16384;
/// Limits a request's body. A configuration of thousands of streams has less.
inline constexpr std::size_t kLongestBody = std::size_t{1} << 20;
/// Limits the bytes that a client may still send after its answer.
inline constexpr std::size_t kMostAfterwards = std::size_t{1} << 20;

/// Limits the time from the connection to the end of the request.
inline constexpr std::chrono::seconds kRequestPatience{5};
/// Limits the time from the end of the request to the beginning of a late answer.
inline constexpr std::chrono::seconds kLaterPatience{100};
/// Limits the time in which an answer, or one text of a stream, must be taken.
inline constexpr std::chrono::seconds kAnswerPatience{20};
/// Limits the time in which an answered client may finish its request: otherwise it would lose the answer (a
/// reset).
inline constexpr std::chrono::seconds kLeaving{1};

}  // namespace spead::observe::http_limits
