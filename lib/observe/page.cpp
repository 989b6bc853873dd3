// SPDX-License-Identifier: BSD-3-Clause
#include "observe/page.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace spead::observe {

namespace {

/// Holds the policy of the page (Content Security Policy Level 3, Trusted Types): it gets scripts, styles and
/// numbers from this server alone, makes no markup of texts, and is in nobody's frame.
constexpr const char* kPolicy =
    "default-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns whether If-None-Match has the tag (RFC 9110, "If-None-Match": compared weakly), or any.
bool has_tag(std::string_view tags, std::string_view tag) {
    if (tags == "*")
        return true;
    while (!tags.empty()) {
        const std::size_t end = std::min(tags.find(','), tags.size());
        std::string_view one = tags.substr(0, end);
        tags.remove_prefix(std::min(end + 1, tags.size()));
        one.remove_prefix(std::min(one.find_first_not_of(" \t"), one.size()));
        one = one.substr(0, one.find_last_not_of(" \t") + 1);
        if (one.starts_with("W/"))
            one.remove_prefix(2);
        if (one == tag)
            return true;
    }
    return false;
}

}  // namespace

std::optional<HttpAnswer> page_answer(const HttpRequest& request, std::string_view root) {
    const std::string_view path = request.path == "/" ? root : std::string_view(request.path);
    const std::span<const PageFile> files = page_files();
    const auto file =
        std::find_if(files.begin(), files.end(), [path](const PageFile& one) { return one.path == path; });
    if (file == files.end())
        return std::nullopt;
    if (!request.reads())
        return method_answer(request, "GET, HEAD");
    HttpAnswer answer{.type = std::string(file->type),
                      .fields = {{"ETag", std::string(file->tag)},
                                 // A browser asks each time: another version of the program may listen here.
                                 {"Cache-Control", "no-cache"},
                                 {"Content-Security-Policy", kPolicy},
                                 {"Cross-Origin-Resource-Policy", "same-origin"},
                                 {"Referrer-Policy", "no-referrer"},
                                 {"X-Frame-Options", "DENY"}}};
    if (has_tag(request.if_none_match, file->tag))
        answer.status = 304;
    else
        answer.body = std::make_shared<const std::string>(file->contents);
    return answer;
}

}  // namespace spead::observe
