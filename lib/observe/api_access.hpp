// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observe/http_message.hpp"

/// Decides who may use the API. A browser on this machine runs pages of strangers, so names count too.
namespace spead::observe {

/// Holds the secret that clients show for changes (RFC 6750, "Authorization: Bearer").
class ApiToken {
  public:
    /// Bounds the length, in characters.
    static constexpr std::size_t kShortest = 16;
    static constexpr std::size_t kLongest = 512;

    /// Reads the file's only line. Throws Error when the file cannot be read, belongs to somebody else than
    /// root and this user, or is open to others; UsageError when it holds no token.
    explicit ApiToken(const std::string& path);

    /// Returns whether the value of a field Authorization shows the token. Takes the same time for each wrong
    /// token of its length.
    bool is_shown_by(std::string_view authorization) const;

  private:
    std::string token_;
};

/// Returns whether a request's Host means this machine: an address, `localhost`, or one of `names`. Any other
/// name may be of a page whose server has moved it here (DNS rebinding). An absent Host passes: browsers send
/// one.
bool is_own_host(std::string_view host, const std::vector<std::string>& names);

/// Returns whether the request comes from no page, or from one that this server has made.
bool is_own_origin(const HttpRequest& request);

/// Returns the error for a request that may not read; nothing: it may.
std::optional<HttpAnswer> why_not_read(const HttpRequest& request, const std::vector<std::string>& names);

/// Returns the error for a request that may not change; nothing: it may. `token`: null if changes are off.
std::optional<HttpAnswer> why_not_change(const HttpRequest& request, const std::vector<std::string>& names,
                                         const ApiToken* token);

/// Returns the machine's own name; empty: it has none.
std::vector<std::string> own_names();

}  // namespace spead::observe
