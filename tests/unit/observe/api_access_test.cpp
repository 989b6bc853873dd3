// SPDX-License-Identifier: BSD-3-Clause
#include "observe/api_access.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"

namespace spead::observe {
namespace {

using testing::HasSubstr;

constexpr const char* kToken = "0123456789abcdefXYZ";

class ApiAccessTest : public testing::Test {
  protected:
    ApiAccessTest() {
        std::filesystem::create_directory(directory_);
        request_.method = "POST";
        request_.path = "/api/v1/x";
        request_.host = "localhost:9100";
    }
    ~ApiAccessTest() override { std::filesystem::remove_all(directory_); }
    std::string write(const std::string& text, mode_t mode = 0600) const {
        const std::string path = directory_ / "token";
        std::ofstream(path) << text;
        chmod(path.c_str(), mode);
        return path;
    }
    static std::string refusal(const std::string& path) {
        try {
            const ApiToken token(path);
        } catch (const Error& error) {
            return error.what();
        }
        return "taken";
    }
    int status(const ApiToken* token) const {
        const auto refused = why_not_change(request_, {"capture1"}, token);
        return refused ? refused->status : 200;
    }

    const std::filesystem::path directory_ =
        std::filesystem::path(testing::TempDir()) / ("api-access-" + std::to_string(getpid()));
    HttpRequest request_;
};

TEST_F(ApiAccessTest, ATokenIsOneLineThatOnlyItsUserReads) {
    const ApiToken token(write(std::string(kToken) + "\n"));
    EXPECT_TRUE(token.is_shown_by(std::string("Bearer ") + kToken));
    EXPECT_TRUE(token.is_shown_by(std::string("bearer ") + kToken));
    for (const std::string shown :
         {"", "Bearer", "Bearer ", "Bearer 0123456789abcdefXYz", "Bearer 0123456789abcdefXY",
          "Bearer 0123456789abcdefXYZZ", "Basic 0123456789abcdefXYZ", "0123456789abcdefXYZ"})
        EXPECT_FALSE(token.is_shown_by(shown)) << shown;
    EXPECT_THAT(refusal(write(kToken, 0640)),
                HasSubstr("open to others (mode 640); close it with chmod 600"));
    EXPECT_THAT(refusal(write(kToken, 0604)), HasSubstr("open to others"));
    EXPECT_EQ(refusal(write(kToken, 0400)), "taken");
    std::filesystem::remove(directory_ / "token");
    for (const std::string& bad : {std::string(), std::string("short"), std::string("two words of a token"),
                                   std::string(kToken) + "\n" + kToken, std::string(600, 'x')})
        EXPECT_THAT(refusal(write(bad)), HasSubstr("holds no token")) << bad;
    EXPECT_THAT(refusal(directory_ / "absent"), HasSubstr("No such file"));
    EXPECT_THAT(refusal(directory_), HasSubstr("is no ordinary file"));
    EXPECT_THAT(refusal("/dev/zero"), HasSubstr("is no ordinary file"));
}

TEST_F(ApiAccessTest, OnlyOwnNamesAreHosts) {
    const std::vector<std::string> names{"Capture1"};
    for (const char* const own : {"", "localhost", "LOCALHOST:1", "127.0.0.1:9100", "10.1.2.3", "[::1]:9100",
                                  "capture1", "capture1:9100"})
        EXPECT_TRUE(is_own_host(own, names)) << own;
    for (const char* const foreign : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example:9100",
                                      "capture1.evil.example", "[evil]", ":9100", "1.2.3"})
        EXPECT_FALSE(is_own_host(foreign, names)) << foreign;
}

TEST_F(ApiAccessTest, ChangesNeedTheTokenAndNoForeignPage) {
    const ApiToken token(write(kToken));
    EXPECT_EQ(status(nullptr), 403);
    EXPECT_EQ(status(&token), 401);
    EXPECT_EQ(why_not_change(request_, {}, &token)->fields.at(0).first, "WWW-Authenticate");
    request_.authorization = std::string("Bearer ") + kToken;
    EXPECT_EQ(status(&token), 200);
    EXPECT_EQ(status(nullptr), 403) << "without a token file nobody changes anything";
    request_.origin = "http://localhost:9100";
    EXPECT_EQ(status(&token), 200);
    request_.origin = "https://localhost:9100";
    EXPECT_EQ(status(&token), 200) << "a proxy has the TLS";
    for (const char* const foreign :
         {"null", "http://evil.example", "http://localhost:9101", "https://localhost:9101"}) {
        request_.origin = foreign;
        EXPECT_EQ(status(&token), 403) << foreign;
    }
    request_.origin.clear();
    request_.host = "evil.example";
    EXPECT_EQ(status(&token), 421);
    EXPECT_EQ(why_not_read(request_, {})->status, 421);
    request_.host = "127.0.0.1";
    EXPECT_FALSE(why_not_read(request_, {}));
}

}  // namespace
}  // namespace spead::observe
