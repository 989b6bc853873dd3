// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/log.hpp"

/// Defines requests to HttpServer and their answers.
namespace spead::observe {

/// Holds a request. Everything in it is the client's: bounded, and otherwise unchecked.
struct HttpRequest {
    std::string method;  ///< as it was sent: "GET"
    std::string path;    ///< begins with '/'; without the query, and not decoded
    std::string query;   ///< without its '?'
    // Fields; empty: absent.
    std::string host{};
    std::string origin{};
    std::string authorization{};
    std::string content_type{};
    std::string if_match{};
    std::string if_none_match{};
    std::string last_event_id{};
    std::string body{};
    std::string client{};  ///< its address and port

    /// Returns whether the client only looks.
    bool reads() const { return method == "GET" || method == "HEAD"; }
    /// Returns whether the body has this media type, with any parameters.
    bool body_is(std::string_view type) const {
        return std::string_view(content_type).substr(0, content_type.find_first_of("; ")) == type;
    }
};

struct HttpAnswer {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::shared_ptr<const std::string> body{};  ///< null: the error that the status says; not sent with 304
    std::vector<std::pair<std::string, std::string>> fields{};
};

/// Takes the answer to a request; any thread may call it, once. Without a call, the client gets none.
using HttpReply = std::function<void(HttpAnswer)>;

/// Answers later. `begin` runs on the server's thread, waits for nothing, and has the request with its body.
struct HttpLater {
    std::function<void(HttpRequest, HttpReply)> begin;
};

/// Answers with server-sent events (HTML, "Server-sent events") without end, one text at each interval.
struct HttpStream {
    std::chrono::milliseconds interval{1000};
    /// Returns the next text, whole events with their empty lines; empty: nothing is new. `left_out` counts
    /// the texts that the client was too slow for since the last one. Runs on the server's thread.
    std::function<std::string(std::size_t left_out)> next;
};

/// Holds the way in which a request is answered, which its head alone decides.
using HttpRoute = std::variant<HttpAnswer, HttpLater, HttpStream>;

/// Returns the status as a phrase: "Not Found".
std::string_view phrase_of(int status);

/// Returns an error as JSON: {"error": words}.
HttpAnswer error_answer(int status, std::string_view words);

/// Takes method and path from the beginning of a head, as far as it came and can be printed.
void take_request_line(HttpRequest& request, std::string_view head);

/// Logs that a request is refused, as "api: CLIENT asked for `GET /x` in vain: 404 Not Found". Anybody may
/// ask, so `limiter` cuts a flood short, and the path is cut, too.
void log_refusal(LogLimiter& limiter, std::string_view who, const HttpRequest& request, int status);

/// Returns the error for a method that a path does not have. `allowed`: "GET, HEAD".
HttpAnswer method_answer(const HttpRequest& request, std::string_view allowed);

}  // namespace spead::observe
