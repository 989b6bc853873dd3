// SPDX-License-Identifier: BSD-3-Clause
#include "observe/api_access.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"

namespace spead::observe {

namespace {

constexpr const char* kKey = "api_token_file";

/// Returns text in lower case; hosts and schemes are compared so.
std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return out;
}

/// Returns the host without its port: "localhost:9100" is "localhost", "[::1]:9100" is "::1".
std::string name_of(std::string_view host) {
    if (host.starts_with('['))
        return lower(host.substr(1, std::min(host.find(']'), host.size()) - 1));
    return lower(host.substr(0, host.find(':')));
}

bool is_address(const std::string& name) {
    in6_addr address{};
    return inet_pton(AF_INET, name.c_str(), &address) == 1 ||
           inet_pton(AF_INET6, name.c_str(), &address) == 1;
}

std::string contents_of(const std::string& path) {
    const auto fail = [&path](const char* what) {
        throw_error(kKey, "cannot {} {}: {}", what, path, std::strerror(errno));
    };
    // A pipe would never end, and a device do things.
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file)
        fail("open");
    struct stat facts {};
    if (fstat(file.get(), &facts) != 0)
        fail("look at");
    if (!S_ISREG(facts.st_mode))
        throw_error(kKey, "{} is no ordinary file; give a file that holds the token", path);
    if (facts.st_uid != 0 && facts.st_uid != geteuid())
        throw_error(kKey, "{} belongs to another user, who could change the token; make your own", path);
    if ((facts.st_mode & 077) != 0)
        throw_error(kKey, "{} is open to others (mode {:03o}); close it with chmod 600 {}", path,
                    facts.st_mode & 0777U, path);
    std::array<char, ApiToken::kLongest + 2> bytes{};
    const ssize_t size = read(file.get(), bytes.data(), bytes.size());
    if (size < 0)
        fail("read");
    return {bytes.data(), static_cast<std::size_t>(size)};
}

std::optional<HttpAnswer> why_not_host(const HttpRequest& request, const std::vector<std::string>& names) {
    if (is_own_host(request.host, names))
        return std::nullopt;
    return error_answer(
        421, fmt::format("`{}` is no name of this machine; use its address, localhost or its host name",
                         request.host));
}

}  // namespace

ApiToken::ApiToken(const std::string& path) : token_(contents_of(path)) {
    while (token_.ends_with('\n') || token_.ends_with('\r'))
        token_.pop_back();
    const bool printable =
        std::all_of(token_.begin(), token_.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!printable || token_.size() < kShortest || token_.size() > kLongest)
        throw_usage(kKey,
                    "{} holds no token: that is one line of {} to {} printable characters without a space; "
                    "make one with `openssl rand -hex 32`",
                    path, kShortest, kLongest);
}

bool ApiToken::is_shown_by(std::string_view authorization) const {
    constexpr std::string_view kScheme = "bearer ";
    if (lower(authorization.substr(0, kScheme.size())) != kScheme)
        return false;
    const std::string_view shown = authorization.substr(kScheme.size());
    if (shown.size() != token_.size())
        return false;
    // Every character is looked at, so that time does not tell how many were right.
    volatile unsigned char differs = 0;
    for (std::size_t i = 0; i < token_.size(); i++)
        differs = static_cast<unsigned char>(differs | (token_[i] ^ shown[i]));
    return differs == 0;
}

bool is_own_host(std::string_view host, const std::vector<std::string>& names) {
    const std::string name = name_of(host);
    return host.empty() || name == "localhost" || is_address(name) ||
           std::any_of(names.begin(), names.end(), [&name](const auto& own) { return lower(own) == name; });
}

bool is_own_origin(const HttpRequest& request) {
    // A proxy before this process may have the TLS.
    const std::string origin = lower(request.origin);
    return origin.empty() || origin == "http://" + lower(request.host) ||
           origin == "https://" + lower(request.host);
}

std::optional<HttpAnswer> why_not_read(const HttpRequest& request, const std::vector<std::string>& names) {
    return why_not_host(request, names);
}

std::optional<HttpAnswer> why_not_change(const HttpRequest& request, const std::vector<std::string>& names,
                                         const ApiToken* token) {
    if (auto refusal = why_not_host(request, names))
        return refusal;
    if (!is_own_origin(request))
        return error_answer(403, fmt::format("a page of {} may not change this process", request.origin));
    if (token == nullptr)
        return error_answer(403,
                            "this process can only be looked at; set api_token_file in [runtime] "
                            "(--api-token-file) to allow changes");
    if (token->is_shown_by(request.authorization))
        return std::nullopt;
    HttpAnswer answer =
        error_answer(401, request.authorization.empty()
                              ? "changes need the token of api_token_file: Authorization: Bearer TOKEN"
                              : "this is not the token of api_token_file");
    answer.fields.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
}

std::vector<std::string> own_names() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0')
        return {};
    return {name.data()};
}

}  // namespace spead::observe
