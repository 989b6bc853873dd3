// SPDX-License-Identifier: BSD-3-Clause
#include "spead/eal_words.hpp"

#include <string_view>

#include "base/error.hpp"

namespace spead::door {

namespace {

/// Returns whether getopt_long(3) may take the word for the option: it accepts every beginning that is
/// unique.
bool may_mean(std::string_view word, std::string_view option) {
    const std::string_view name = word.substr(0, word.find('='));
    return name.size() > 2 && option.starts_with(name);
}

}  // namespace

void need_harmless(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        // EAL's other options of one letter take a value: what follows the letter is no option.
        const bool letters = word.size() > 1 && word[0] == '-' && (word[1] == 'h' || word[1] == 'v');
        if (letters || may_mean(word, "--help") || may_mean(word, "--version"))
            throw_usage("EAL", "`{}` ends the process; leave it out", word);
        if (may_mean(word, "--proc-type"))
            throw_usage("EAL",
                        "`{}` makes the process share another one's EAL, which the library cannot; leave it "
                        "out",
                        word);
    }
}

}  // namespace spead::door
