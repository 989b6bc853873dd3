// SPDX-License-Identifier: BSD-3-Clause
#include "app/api/api.hpp"

#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "app/api/configuration.hpp"
#include "base/error.hpp"
#include "observe/api_query.hpp"
#include "observe/http_limits.hpp"
#include "observe/page.hpp"
#include "runtime/executor.hpp"

namespace spead::app {

using observe::error_answer;
using observe::HttpAnswer;
using observe::HttpRequest;
using observe::HttpRoute;
using observe::Json;

namespace {

/// Limits the time that a request may wait behind others. Its client's patience is longer.
constexpr std::chrono::seconds kPatience{30};

constexpr std::string_view kConfiguration = "/api/v1/configuration";
constexpr std::string_view kShutdown = "/api/v1/shutdown";

HttpAnswer json_answer(const Json& json) {
    return {.type = "application/json",
            .body = std::make_shared<const std::string>(observe::text_of(json) + "\n"),
            .fields = {{"Cache-Control", "no-store"}}};
}

HttpAnswer show_configuration(Process& process, bool as_toml) {
    const ConfigurationText now = configuration_text(process.plan());
    HttpAnswer answer = as_toml ? HttpAnswer{.type = "application/toml; charset=utf-8",
                                             .body = std::make_shared<const std::string>(now.toml),
                                             .fields = {{"Cache-Control", "no-store"}}}
                                : json_answer({{"version", now.version}, {"toml", now.toml}});
    answer.fields.emplace_back("ETag", fmt::format("\"{}\"", now.version));
    return answer;
}

}  // namespace

Api::Api(Options options)
    : names_(observe::own_names()),
      token_(std::move(options.token)),
      answers_(std::move(options.latest), std::move(options.events), std::move(options.facts)),
      looks_("http-look", options.cpus),
      works_("http-change", options.cpus) {}

std::optional<HttpRoute> Api::route(const HttpRequest& request) {
    std::optional<HttpRoute> route = route_of(request);
    const auto* const refusal = route ? std::get_if<HttpAnswer>(&*route) : nullptr;
    if (refusal != nullptr && refusal->status >= 400 && !request.reads())
        log_refusal(shared_->refusals, "api", request, refusal->status);
    return route;
}

/// Returns an error, and logs it.
HttpAnswer Api::refused(Shared& shared, const HttpRequest& request, int status, std::string_view words) {
    log_refusal(shared.refusals, "api", request, status);
    return error_answer(status, words);
}

std::optional<HttpAnswer> Api::why_too_long(Shared& shared, const HttpRequest& request, std::size_t longest) {
    if (request.body.size() <= longest)
        return std::nullopt;
    return refused(
        shared, request, 413,
        fmt::format("the body has {} bytes; this path takes at most {}", request.body.size(), longest));
}

std::optional<HttpRoute> Api::route_of(const HttpRequest& request) {
    const bool of_api = request.path.starts_with("/api/") || request.path == "/api";
    std::optional<HttpAnswer> page = of_api ? std::nullopt : observe::page_answer(request);
    if (!of_api && !page)
        return std::nullopt;
    if (auto refusal = observe::why_not_read(request, names_))
        return std::move(*refusal);
    if (page)
        return std::move(*page);
    if (auto answer = answers_.route(request))
        return answer;
    if (request.path == kConfiguration)
        return request.method == "PUT" ? put_configuration(request) : configuration(request);
    if (const ChangePath* const found = shared_->changes.find(request.path))
        return change(*found, request);
    return error_answer(404, fmt::format("there is no {} here; /api/v1 lists the paths", request.path));
}

HttpRoute Api::configuration(const HttpRequest& request) {
    if (!request.reads())
        return method_answer(request, "GET, HEAD, PUT");
    try {
        const auto query = observe::query_values(request.query, {"format"});
        const auto format = query.find("format");
        if (format != query.end() && format->second != "toml" && format->second != "json")
            throw_usage("format", "`{}` is unknown; give toml or json", format->second);
        const bool as_toml = format != query.end() && format->second == "toml";
        return later(
            looks_,
            [as_toml](Process& process, const HttpRequest&) { return show_configuration(process, as_toml); },
            observe::http_limits::kLongestBody);
    } catch (const UsageError& error) {
        return error_answer(400, error.what());
    }
}

HttpRoute Api::put_configuration(const HttpRequest& request) {
    if (auto refusal = observe::why_not_change(request, names_, token()))
        return std::move(*refusal);
    if (request.if_match.empty())
        return error_answer(428,
                            "say which version is changed: If-Match: \"VERSION\", from a GET of this path");
    return later(works_, ApiChanges::put_configuration, observe::http_limits::kLongestBody);
}

HttpRoute Api::change(const ChangePath& change, const HttpRequest& request) {
    if (request.method != "POST")
        return method_answer(request, "POST");
    if (auto refusal = observe::why_not_change(request, names_, token()))
        return std::move(*refusal);
    if (!request.body_is("application/json"))
        return error_answer(415, "the body must be JSON: Content-Type: application/json");
    if (change.path == kShutdown)
        return shutdown(change);
    // Within the shared part, which the job holds.
    const Work work = [&changes = shared_->changes, &change](Process& process, const HttpRequest& whole) {
        return changes.carry_out(process, change, whole);
    };
    return later(works_, work, kLongestChange);
}

/// Returns the route of the end, which waits for no other change and for no main thread.
HttpRoute Api::shutdown(const ChangePath& change) {
    return observe::HttpLater{
        [shared = shared_, &change](const HttpRequest& request, const observe::HttpReply& reply) {
            if (auto refusal = why_too_long(*shared, request, kLongestChange)) {
                reply(std::move(*refusal));
                return;
            }
            const Work work = [&change](Process& process, const HttpRequest& whole) {
                return ApiChanges::shutdown(process, change, whole);
            };
            reply(carry_out(*shared, work, request, Clock::now()));
        }};
}

/// Returns the route of a request that the process itself answers, and whose body is not longer than
/// `longest`.
HttpRoute Api::later(WorkQueue& queue, Work work, std::size_t longest) {
    return observe::HttpLater{[shared = shared_, &queue, work = std::move(work), longest](
                                  HttpRequest request, observe::HttpReply reply) {
        if (auto refusal = why_too_long(*shared, request, longest)) {
            reply(std::move(*refusal));
            return;
        }
        const auto asked = Clock::now();
        const auto whole = std::make_shared<const HttpRequest>(std::move(request));
        const bool taken = queue.post([shared, work, whole, reply, asked] {
            try {
                reply(carry_out(*shared, work, *whole, asked));
            } catch (const std::exception&) {
                // Without memory for an answer, the client's patience ends.
            }
        });
        if (!taken)
            reply(refused(*shared, *whole, 503,
                          "too many requests wait for the process; nothing was changed, ask again"));
    }};
}

HttpAnswer Api::carry_out(Shared& shared, const Work& work, const HttpRequest& request,
                          Clock::time_point asked) {
    if (Clock::now() - asked > kPatience)
        return refused(shared, request, 503,
                       "earlier requests took too long; nothing was changed, ask again");
    // A change that the process refuses is in the log by then (ApiChanges).
    const auto not_now = [&](const Error& error) {
        return request.reads() ? refused(shared, request, 503, error.what())
                               : error_answer(503, error.what());
    };
    try {
        return work(shared.process, request);
    } catch (const runtime::Busy& error) {
        return not_now(error);
    } catch (const runtime::Ending& error) {
        return not_now(error);
    } catch (const BadBody& error) {
        return error_answer(400, error.what());
    } catch (const UsageError& error) {
        return error_answer(422, error.what());
    } catch (const Error& error) {
        return error_answer(409, error.what());
    } catch (const std::exception& error) {
        return error_answer(500, error.what());
    }
}

Api::Attached::Attached(Api& api, Process& process) : api_(api) {
    api_.shared_->process.attach(process);
}

Api::Attached::~Attached() {
    api_.shared_->process.detach();
}

}  // namespace spead::app
