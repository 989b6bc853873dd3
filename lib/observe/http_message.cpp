// SPDX-License-Identifier: BSD-3-Clause
#include "observe/http_message.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "observe/json.hpp"

namespace spead::observe {

std::string_view phrase_of(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 304:
            return "Not Modified";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 409:
            return "Conflict";
        case 412:
            return "Precondition Failed";
        case 413:
            return "Content Too Large";
        case 415:
            return "Unsupported Media Type";
        case 421:
            return "Misdirected Request";
        case 422:
            return "Unprocessable Content";
        case 428:
            return "Precondition Required";
        case 431:
            return "Request Header Fields Too Large";
        case 503:
            return "Service Unavailable";
        default:
            return "Internal Server Error";
    }
}

HttpAnswer error_answer(int status, std::string_view words) {
    const Json json = {{"error", std::string(words)}};
    return {.status = status,
            .type = "application/json",
            .body = std::make_shared<const std::string>(text_of(json) + "\n")};
}

void take_request_line(HttpRequest& request, std::string_view head) {
    const auto word = [&head] {
        const auto end =
            std::find_if_not(head.begin(), head.end(), [](char c) { return c > ' ' && c <= '~'; });
        const std::string found(head.begin(), end);
        head.remove_prefix(std::min(found.size() + 1, head.size()));
        return found;
    };
    request.method = word();
    request.path = word();
    request.path.resize(std::min(request.path.find_first_of("?#"), request.path.size()));
}

void log_refusal(LogLimiter& limiter, std::string_view who, const HttpRequest& request, int status) {
    log_limited(limiter, LogType::app, LogLevel::notice, "{}: {} asked for `{} {}` in vain: {} {}", who,
                request.client, request.method.substr(0, 16), request.path.substr(0, 200), status,
                phrase_of(status));
}

HttpAnswer method_answer(const HttpRequest& request, std::string_view allowed) {
    HttpAnswer answer = error_answer(
        405, fmt::format("{} takes no {}; its methods are {}", request.path, request.method, allowed));
    answer.fields.emplace_back("Allow", allowed);
    return answer;
}

}  // namespace spead::observe
