// SPDX-License-Identifier: BSD-3-Clause
#include "app/api/api_changes.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/api/configuration.hpp"
#include "app/prompt/context.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/foreign_json.hpp"
#include "base/log.hpp"
#include "config/config.hpp"
#include "observe/json.hpp"

namespace spead::app {

using observe::error_answer;
using observe::HttpAnswer;
using observe::HttpRequest;
using observe::Json;

namespace {

/// Reports that the configuration is not the one that the client has seen.
class OtherVersion : public Error {
  public:
    using Error::Error;
};

HttpAnswer done(const std::string& text) {
    const Json json = {{"done", text}};
    return {.type = "application/json",
            .body = std::make_shared<const std::string>(observe::text_of(json) + "\n")};
}

/// Returns the command's words for the request's body. Throws BadBody, and UsageError.
std::vector<std::string> words_in(const HttpRequest& request, const ChangePath& change) {
    if (request.body.empty())
        return words_of(change, nlohmann::json::object());
    const nlohmann::json body = parse_foreign(request.body);
    if (!body.is_object())
        throw BadBody("the body is no JSON object; write {\"stream\": \"s0\"}");
    if (const std::string name = repeated_name(request.body); !name.empty())
        throw_usage(name, "the body has it twice; send it once");
    return words_of(change, body);
}

/// Sets the log level of a configuration that is carried out already. So this may not fail any more: returns
/// words to add to the answer.
std::string problem_of_log_level(Process& process, const std::string& level) {
    if (level.empty())
        return {};
    try {
        process.log_level(level);
    } catch (const Error& error) {
        return fmt::format("; its log level is not set yet: {}", error.what());
    }
    return {};
}

/// Logs a change with its source, and that it was refused if `change` throws. `change` may complete `what`.
template <typename Change>
void logged(const HttpRequest& request, const std::string& what, Change&& change) {
    try {
        change();
    } catch (const std::exception& error) {
        log_notice(LogType::app, "api: {} asked for `{}` in vain: {}", request.client, what, error.what());
        throw;
    }
    log_notice(LogType::app, "api: {} made the change `{}`", request.client, what);
}

}  // namespace

ApiChanges::ApiChanges() : changes_(change_paths()), grammar_(prompt_commands()) {}

const ChangePath* ApiChanges::find(std::string_view path) const {
    const auto found = std::find_if(changes_.begin(), changes_.end(),
                                    [path](const ChangePath& change) { return change.path == path; });
    return found == changes_.end() ? nullptr : &*found;
}

HttpAnswer ApiChanges::carry_out(Process& process, const ChangePath& change,
                                 const HttpRequest& request) const {
    std::string text;
    PromptSession session;
    session.attached = true;
    session.print = [&text](std::string_view part) { text += part; };
    Context context{process, grammar_, session};
    std::string what = change.path;
    logged(request, what, [&] {
        const std::vector<std::string> words = words_in(request, change);
        what = fmt::format("{}", fmt::join(words, " "));
        app::carry_out(context, words);
    });
    while (text.ends_with('\n'))
        text.pop_back();
    return done(text);
}

HttpAnswer ApiChanges::shutdown(Process& process, const ChangePath& change, const HttpRequest& request) {
    logged(request, "shutdown", [&] {
        words_in(request, change);
        process.end();
    });
    return done("");
}

HttpAnswer ApiChanges::put_configuration(Process& process, const HttpRequest& request) {
    std::string text;
    try {
        logged(request, "PUT configuration", [&] {
            const runtime::Plan wanted = config::parse_text(request.body, "configuration");
            bool same = false;
            process.change([&](const runtime::Plan& now) {
                const std::string version = configuration_text(now).version;
                if (!names_version(request.if_match, version))
                    throw OtherVersion(fmt::format(
                        "the configuration has another version now, \"{}\"; read it again, and make the "
                        "change in that one",
                        version));
                runtime::Plan plan = wanted;
                // The text says neither: they are how the process was started.
                plan.runtime.live = now.runtime.live;
                plan.shard = now.shard;
                same = plan == now;
                return plan;
            });
            text = same ? "the configuration had no changes"
                        : fmt::format("the configuration was carried out: {}, {}",
                                      counted(wanted.receives.size(), "streams"),
                                      counted(wanted.sends.size(), "senders"));
            text += problem_of_log_level(process, wanted.runtime.log_level);
        });
    } catch (const OtherVersion& error) {
        return error_answer(412, error.what());
    }
    return done(text);
}

}  // namespace spead::app
