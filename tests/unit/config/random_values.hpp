// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/error.hpp"
#include "config/keys.hpp"

namespace spead::test {

/// Returns the example of a text's key without its quotes.
inline std::string example_text(const config::Key& key) {
    return toml::parse(fmt::format("x = {}", key.example))["x"].value_or(std::string());
}

/// Makes values that a key may have, from nothing but its table: a key that is added is covered.
class RandomValues {
  public:
    explicit RandomValues(unsigned seed) : random_(seed) {}

    config::Value of(const config::Key& key) {
        using config::KeyType;
        switch (key.field.type) {
            case KeyType::flag:
                return coin();
            case KeyType::integer:
            case KeyType::size:
            case KeyType::cpu:
                if (key.range.min < 0)
                    return whole(key);
                return static_cast<std::uint64_t>(whole(key));
            case KeyType::real:
            case KeyType::rate:
            case KeyType::time:
                return number(key);
            case KeyType::choice:
                return std::string(key.field.choices[below(key.field.choices.size())]);
            case KeyType::cpus: {
                std::vector<unsigned> list;
                for (unsigned i = 0; i < below(4); i++)
                    list.push_back(static_cast<unsigned>(whole(key)));
                return list;
            }
            case KeyType::texts: {
                std::vector<std::string> list;
                while (list.empty() || coin())
                    list.push_back(any_text());
                return list;
            }
            case KeyType::endpoints: {
                std::vector<std::string> list;
                while (list.empty() || coin())
                    list.push_back(fmt::format("239.{}.0.{}+{}:{}", below(256), below(99), 1 + below(99),
                                               1 + below(65535)));
                return list;
            }
            case KeyType::text:
                break;
        }
        return any_text();
    }

    bool coin() { return below(2) == 1; }
    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  private:
    std::string any_text() {
        static const std::vector<std::string> kTexts{"plain", "a \"b\" \\c", "r\u00e4ume\t\x01\x7f", "7",
                                                     "#"};
        return kTexts[below(kTexts.size())];
    }
    /// Returns a whole number. The ends of the range come most often, since they are the likeliest to go
    /// wrong.
    std::int64_t whole(const config::Key& key) {
        switch (below(4)) {
            case 0:
                return key.range.min;
            case 1:
                return key.range.max;
            case 2:
                return key.zero ? 0 : key.range.min;
            default:
                return std::uniform_int_distribution<std::int64_t>(key.range.min, key.range.max)(random_);
        }
    }
    double number(const config::Key& key) {
        if (coin())
            return static_cast<double>(whole(key));
        return std::uniform_real_distribution<double>(static_cast<double>(key.range.min),
                                                      static_cast<double>(key.range.max))(random_);
    }

    std::mt19937_64 random_;
};

/// Puts a random value under the key. Where the key has a language of its own, which random texts are not in,
/// it is the key's example.
inline void set_random(RandomValues& values, const config::Key& key, config::Part part) {
    const auto nowhere = [](std::string_view) { return std::string(); };
    const config::Value value = values.of(key);
    try {
        if (const auto* text = std::get_if<std::string>(&value); text != nullptr && key.check != nullptr)
            key.check(*text, "");
        key.field.set(part, value, nowhere);
    } catch (const UsageError&) {
        key.field.set(part, example_text(key), nowhere);
    }
}

}  // namespace spead::test
