// SPDX-License-Identifier: BSD-3-Clause
#include "observe/http_message.hpp"

#include <gtest/gtest.h>

#include "observe/json.hpp"

namespace spead::observe {
namespace {

TEST(HttpMessage, ErrorsAreJsonWhateverTheyQuote) {
    const HttpAnswer answer = error_answer(404, "no \"\x01\xff\" here");
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(answer.type, "application/json");
    EXPECT_EQ(Json::parse(*answer.body)["error"], "no \"\x01\xEF\xBF\xBD\" here");
}

TEST(HttpMessage, AWrongMethodNamesTheRightOnes) {
    HttpRequest request;
    request.method = "POST";
    request.path = "/metrics";
    const HttpAnswer answer = method_answer(request, "GET, HEAD");
    EXPECT_EQ(answer.status, 405);
    EXPECT_EQ(answer.fields, (std::vector<std::pair<std::string, std::string>>{{"Allow", "GET, HEAD"}}));
    EXPECT_EQ(Json::parse(*answer.body)["error"], "/metrics takes no POST; its methods are GET, HEAD");
    EXPECT_FALSE(request.reads());
    request.method = "HEAD";
    EXPECT_TRUE(request.reads());
}

TEST(HttpMessage, ALineThatIsNotWholeStillNamesItsRequest) {
    const auto taken = [](std::string_view head) {
        HttpRequest request;
        take_request_line(request, head);
        return request.method + "|" + request.path;
    };
    EXPECT_EQ(taken("GET /metrics?a=b HTTP/1.1\r\nX-Long: xxx"), "GET|/metrics");
    EXPECT_EQ(taken("GET /xxxx"), "GET|/xxxx");
    EXPECT_EQ(taken("GET"), "GET|");
    EXPECT_EQ(taken(""), "|");
    EXPECT_EQ(taken("GET /a\x1b[31m HTTP/1.1"), "GET|/a") << "no control characters for the log";
}

TEST(HttpMessage, EveryStatusInUseHasAPhrase) {
    for (const int status : {200, 304, 400, 401, 403, 404, 405, 409, 412, 413, 415, 421, 422, 428, 431, 503})
        EXPECT_NE(phrase_of(status), "Internal Server Error") << status;
}

}  // namespace
}  // namespace spead::observe
