// SPDX-License-Identifier: BSD-3-Clause
#include "observe/key_words.hpp"

#include <algorithm>

#include "config/keys.hpp"

namespace spead::observe {

namespace {

/// Returns the key that the option sets, as advice names it; empty if it sets none. A stream's keys come
/// before a sender's.
std::string key_of_option(std::string_view option) {
    if (option.empty())
        return {};
    // The file is one more of the key's list.
    if (option == "--file")
        return "file (capture.files)";
    for (const std::string_view root : {"receive", "send", "memory"})
        for (const std::string& path : config::key_paths(root))
            if (config::find_key(root, path)->option == option)
                return root == "memory" ? path + " of [memory]" : path;
    return {};
}

}  // namespace

std::string with_keys(std::string_view advice) {
    std::string text;
    while (!advice.empty()) {
        const std::size_t at = std::min(advice.find("--"), advice.size());
        // Commands between backticks stay as they are.
        if (const std::size_t quote = advice.find('`'); quote < at) {
            const std::size_t end = advice.find('`', quote + 1);
            const std::size_t whole = end == advice.npos ? advice.size() : end + 1;
            text += advice.substr(0, whole);
            advice.remove_prefix(whole);
            continue;
        }
        text += advice.substr(0, at);
        advice.remove_prefix(at);
        const std::size_t length =
            std::min(advice.find_first_not_of("-abcdefghijklmnopqrstuvwxyz"), advice.size());
        const std::string_view option = advice.substr(0, length);
        const std::string key = key_of_option(option);
        text += key.empty() ? option : key;
        advice.remove_prefix(length);
    }
    return text;
}

}  // namespace spead::observe
