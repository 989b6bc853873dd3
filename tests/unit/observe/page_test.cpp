// SPDX-License-Identifier: BSD-3-Clause
#include "observe/page.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <regex>
#include <set>

namespace spead::observe {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

std::optional<HttpAnswer> ask(const std::string& path, const std::string& method = "GET",
                              const std::string& if_none_match = "") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.if_none_match = if_none_match;
    return page_answer(request);
}

std::string field(const HttpAnswer& answer, std::string_view name) {
    for (const auto& [key, value] : answer.fields)
        if (key == name)
            return value;
    return "";
}

/// Returns the first groups of all matches.
std::set<std::string> all_of(std::string_view text, const char* pattern) {
    const std::regex expression(pattern);
    std::set<std::string> found;
    for (std::cregex_iterator at(text.data(), text.data() + text.size(), expression);
         at != std::cregex_iterator(); ++at)
        found.insert((*at)[1]);
    return found;
}

TEST(Page, HasTheFilesOfTheTree) {
    const char* const root = std::getenv("DPDK_SPEAD_SOURCE_ROOT");
    ASSERT_NE(root, nullptr) << "set DPDK_SPEAD_SOURCE_ROOT to the top of the tree";
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(root) + "/config/page")) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        const auto answer = ask("/page/" + entry.path().filename().string());
        ASSERT_TRUE(answer) << entry.path() << " is not listed in lib/observe/meson.build";
        EXPECT_EQ(*answer->body, text) << entry.path();
        files++;
    }
    EXPECT_EQ(page_files().size(), files);
}

TEST(Page, TheRootIsItsDocument) {
    const auto answer = ask("/");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->type, "text/html; charset=utf-8");
    EXPECT_EQ(*answer->body, *ask("/page/index.html")->body);
    EXPECT_EQ(ask("/page/main.js")->type, "text/javascript; charset=utf-8");
    EXPECT_EQ(ask("/page/page.css")->type, "text/css; charset=utf-8");
    EXPECT_EQ(ask("/page/icon.svg")->type, "image/svg+xml");
}

TEST(Page, NoOtherPathIsAFile) {
    for (const char* const path :
         {"", "/page", "/page/", "/page/other.js", "/page//main.js", "//page/main.js", "/page/./main.js",
          "/page/../page/main.js", "/page/..%2fmain.js", "/page/main%2ejs", "/page/main.js/", "/PAGE/main.js",
          "/page/../../etc/passwd", "/index.html", "/main.js"})
        EXPECT_FALSE(ask(path)) << path;
}

TEST(Page, ItIsOnlyRead) {
    EXPECT_EQ(ask("/", "HEAD")->status, 200);
    for (const char* const method : {"POST", "PUT", "DELETE", "OPTIONS", "get"}) {
        EXPECT_EQ(ask("/", method)->status, 405) << method;
        EXPECT_EQ(field(*ask("/", method), "Allow"), "GET, HEAD");
    }
}

TEST(Page, EveryFileHasThePolicy) {
    for (const PageFile& file : page_files()) {
        const auto answer = ask(std::string(file.path));
        const std::string policy = field(*answer, "Content-Security-Policy");
        for (const char* const part :
             {"default-src 'self'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'",
              "form-action 'none'", "require-trusted-types-for 'script'"})
            EXPECT_THAT(policy, HasSubstr(part)) << file.path;
        EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
        EXPECT_THAT(answer->fields, Contains(Pair("X-Frame-Options", "DENY")));
        EXPECT_THAT(answer->fields, Contains(Pair("Referrer-Policy", "no-referrer")));
        EXPECT_THAT(answer->fields, Contains(Pair("Cache-Control", "no-cache")));
    }
}

TEST(Page, AServerOfOtherThingsHasARootOfItsOwn) {
    HttpRequest request;
    request.method = "GET";
    request.path = "/";
    EXPECT_THAT(*page_answer(request, "/page/fleet.html")->body, HasSubstr("/page/fleet.js"));
    EXPECT_THAT(*page_answer(request)->body, HasSubstr("/page/main.js"));
}

TEST(Page, AKnownFileIsNotSentAgain) {
    const std::string tag = field(*ask("/"), "ETag");
    ASSERT_EQ(tag.size(), 18);
    for (const std::string& known :
         {tag, "W/" + tag, "\"a\", " + tag, "\"a\" ,\tW/" + tag + " , \"b\"", std::string("*")}) {
        const auto answer = ask("/", "GET", known);
        EXPECT_EQ(answer->status, 304) << known;
        EXPECT_EQ(field(*answer, "ETag"), tag);
    }
    for (const std::string& other :
         {std::string(), std::string("\"a\""), tag.substr(1), tag + "x", std::string(" , ,,"),
          "\"" + tag + "\"", field(*ask("/page/main.js"), "ETag")})
        EXPECT_EQ(ask("/", "GET", other)->status, 200) << other;
    EXPECT_EQ(ask("/", "POST", tag)->status, 405);
}

TEST(Page, ItNeedsNothingFromElsewhere) {
    std::set<std::string> known{"/api/v1/report", "/api/v1/fleet", "/metrics"};
    for (const PageFile& file : page_files())
        known.emplace(file.path);
    for (const PageFile& file : page_files()) {
        for (const std::string& link : all_of(file.contents, R"re((?:src|href)="([^"#][^"]*)")re"))
            EXPECT_THAT(known, Contains(link)) << file.path;
        for (const std::string& link : all_of(file.contents, R"re(from "([^"]*)";)re"))
            EXPECT_THAT(known, Contains(link)) << file.path;
        for (const std::string& address : all_of(file.contents, R"re(((?:https?:|wss?:)?//[a-z][^" ]*))re"))
            EXPECT_EQ(address, "http://www.w3.org/2000/svg") << file.path;
    }
}

// The policy forbids these, too; a browser would then show half a page.
TEST(Page, NothingInItIsMarkupOfTextsOrInline) {
    for (const PageFile& file : page_files()) {
        EXPECT_THAT(
            all_of(file.contents,
                   R"re(\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function))re"),
            testing::IsEmpty())
            << file.path;
        if (file.path.ends_with(".html")) {
            EXPECT_THAT(all_of(file.contents, R"re(<[^>]*\s(on[a-z]+|style)=)re"), testing::IsEmpty());
            EXPECT_THAT(all_of(file.contents, R"re((<script(?![^>]*\ssrc=)[^>]*>|<style))re"),
                        testing::IsEmpty());
        }
    }
}

TEST(Page, NoTokenGoesIntoAnAddressOrAStorage) {
    for (const PageFile& file : page_files())
        EXPECT_THAT(all_of(file.contents, R"re((localStorage|sessionStorage|document\.cookie|indexedDB))re"),
                    testing::IsEmpty())
            << file.path;
}

}  // namespace
}  // namespace spead::observe
