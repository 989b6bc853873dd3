// SPDX-License-Identifier: BSD-3-Clause
#include "app/fleet/fleet_page.hpp"

#include <curl/curl.h>
#include <gmock/gmock.h>
#include <memory>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace spead::app {
namespace {

using testing::HasSubstr;

struct Answer {
    long status = 0;
    std::string text{};
};

std::size_t take(char* bytes, std::size_t size, std::size_t count, void* to) {
    static_cast<std::string*>(to)->append(bytes, size * count);
    return size * count;
}

Answer ask(const FleetPage& page, const char* path, const char* host = "127.0.0.1",
           const char* method = "GET") {
    const std::unique_ptr<CURL, void (*)(CURL*)> easy(curl_easy_init(), curl_easy_cleanup);
    const std::unique_ptr<curl_slist, void (*)(curl_slist*)> fields(
        curl_slist_append(nullptr, fmt::format("Host: {}", host).c_str()), curl_slist_free_all);
    Answer answer;
    curl_easy_setopt(easy.get(), CURLOPT_URL,
                     fmt::format("http://{}{}", to_string(page.address()), path).c_str());
    curl_easy_setopt(easy.get(), CURLOPT_PROXY, "");
    curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, fields.get());
    curl_easy_setopt(easy.get(), CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, &take);
    curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &answer.text);
    EXPECT_EQ(curl_easy_perform(easy.get()), CURLE_OK);
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &answer.status);
    return answer;
}

TEST(FleetPage, ShowsWhatWasPublishedLast) {
    FleetPage page({kLoopback, 0});
    EXPECT_EQ(ask(page, "/api/v1/fleet").status, 503);
    page.publish("{\"a\":1}");
    EXPECT_EQ(ask(page, "/api/v1/fleet").text, "{\"a\":1}");
    page.publish("{\"a\":2}");
    EXPECT_EQ(ask(page, "/api/v1/fleet").text, "{\"a\":2}");
}

TEST(FleetPage, HasAPageOfItsOwnAtTheRoot) {
    FleetPage page({kLoopback, 0});
    EXPECT_THAT(ask(page, "/").text, HasSubstr("/page/fleet.js"));
    EXPECT_EQ(ask(page, "/page/fleet.js").status, 200);
    EXPECT_EQ(ask(page, "/page/page.css").status, 200);
    EXPECT_EQ(ask(page, "/metrics").status, 404);
    EXPECT_EQ(ask(page, "/api/v1/report").status, 404);
}

TEST(FleetPage, RefusesForeignNamesAndChanges) {
    FleetPage page({kLoopback, 0});
    page.publish("{}");
    EXPECT_EQ(ask(page, "/api/v1/fleet", "evil.example").status, 421);
    EXPECT_EQ(ask(page, "/", "evil.example").status, 421);
    EXPECT_EQ(ask(page, "/api/v1/fleet", "localhost").status, 200);
    EXPECT_EQ(ask(page, "/api/v1/fleet", "127.0.0.1", "POST").status, 405);
    EXPECT_EQ(ask(page, "/", "127.0.0.1", "PUT").status, 405);
}

TEST(FleetPage, SaysWhichAddressIsTaken) {
    const FleetPage page({kLoopback, 0});
    EXPECT_THAT(spead::test::error_of([&] { FleetPage(page.address()); }),
                HasSubstr("--http: another program listens on " + to_string(page.address())));
}

}  // namespace
}  // namespace spead::app
