// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "observe/http_message.hpp"

/// Serves the live pages (docs/page.md): the files of config/page, as they were when the program was built.
namespace spead::observe {

struct PageFile {
    std::string_view path;  ///< "/page/main.js"
    std::string_view type;  ///< "text/javascript; charset=utf-8"
    std::string_view tag;   ///< of the contents, with its quotes (RFC 9110, "ETag")
    std::string_view contents;
};

/// Returns all files. The build makes this from config/page (lib/observe/embed_page.py).
std::span<const PageFile> page_files() noexcept;

/// Returns the answer for `/`, which is the file `root`, and the paths of page_files(), of any method;
/// nothing: it is another path. Paths are compared as they were sent, and no file is opened. A client that
/// has the file already gets status 304.
std::optional<HttpAnswer> page_answer(const HttpRequest& request, std::string_view root = "/page/index.html");

}  // namespace spead::observe
