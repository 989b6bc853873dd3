// SPDX-License-Identifier: BSD-3-Clause
#include "base/text_reader.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "base/error.hpp"

namespace spead {

namespace {

bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

bool TextReader::is_word(char c) const {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           kind_.word_characters.find(c) != std::string_view::npos;
}

void TextReader::next() {
    at_ += token_.size();
    while (at_ < text_.size() && is_space(text_[at_]))
        at_++;
    const std::string_view rest = text_.substr(at_);
    std::size_t length = 0;
    while (length < rest.size() && is_word(rest[length]))
        length++;
    if (length == 0 && !rest.empty())
        length = std::any_of(kind_.signs.begin(), kind_.signs.end(),
                             [&](std::string_view sign) { return rest.starts_with(sign); })
                     ? 2
                     : 1;
    token_ = rest.substr(0, length);
}

bool TextReader::take(std::string_view word) {
    if (token_ != word)
        return false;
    next();
    return true;
}

std::uint64_t TextReader::number(std::string_view wanted) {
    std::string_view digits = token_;
    const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    if (hexadecimal)
        digits.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size())
        fail(wanted, error == std::errc::result_out_of_range ? ", more than 64 bits hold" : "");
    next();
    return value;
}

std::uint64_t TextReader::number(std::string_view wanted, std::uint64_t least, std::uint64_t most) {
    const TextReader before = *this;
    const std::uint64_t value = number(wanted);
    if (value < least || value > most)
        before.fail(wanted, value < least ? ", too little" : ", too much");
    return value;
}

void TextReader::want(std::string_view sign) {
    if (!take(sign))
        fail(fmt::format("`{}`", sign));
}

void TextReader::fail(std::string_view wanted, std::string_view extra) const {
    throw_usage(where_, "the {} has {} at character {}{}; give {}", kind_.name, shown(token_), at_ + 1, extra,
                wanted);
}

std::string TextReader::shown(std::string_view token) {
    if (token.empty())
        return "the end";
    std::string text = "`";
    for (const char c : token.substr(0, 32))
        text += c >= ' ' && c <= '~' ? std::string(1, c)
                                     : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    return text + (token.size() > 32 ? "...`" : "`");
}

}  // namespace spead
