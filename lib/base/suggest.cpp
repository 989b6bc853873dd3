// SPDX-License-Identifier: BSD-3-Clause
#include "base/suggest.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace spead {

namespace {

std::string folded(std::string_view word) {
    std::string text;
    for (const char c : word)
        text += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

/// Returns the optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);
    std::vector<std::size_t> previous(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(previous.begin(), previous.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); i++) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); j++) {
            const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({previous[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(previous);
        previous.swap(row);
    }
    return previous[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    const std::string wanted = folded(word);
    std::string_view best;
    std::size_t best_distance = 0;
    for (const std::string_view candidate : known) {
        const std::string have = folded(candidate);
        // A third of the letters may be wrong; more is another word. One that only lacks its end is near as
        // well.
        const std::size_t allowed = std::max<std::size_t>(1, std::max(wanted.size(), have.size()) / 3);
        std::size_t d = distance(wanted, have);
        if (wanted.size() >= 3 && have.starts_with(wanted))
            d = std::min<std::size_t>(d, 1);
        if (d <= allowed && (best.empty() || d < best_distance)) {
            best = candidate;
            best_distance = d;
        }
    }
    return best;
}

std::string hint(std::string_view word, std::span<const std::string_view> known) {
    const std::string_view best = nearest(word, known);
    return best.empty() ? std::string{} : " (did you mean `" + std::string(best) + "`?)";
}

std::string list_of(std::span<const std::string_view> words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); i++) {
        if (i > 0)
            text += i + 1 == words.size() ? " or " : ", ";
        text += words[i];
    }
    return text;
}

}  // namespace spead
