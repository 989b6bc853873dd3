// SPDX-License-Identifier: BSD-3-Clause
#include "wire/numpy_header.hpp"

#include <array>
#include <charconv>
#include <optional>

#include <fmt/core.h>

namespace spead::wire {
namespace {

/// Reads the few Python literals that occur, from the front.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    /// Takes the character, after any white space.
    bool take(char c) {
        skip_space();
        if (text_.empty() || text_.front() != c)
            return false;
        text_.remove_prefix(1);
        return true;
    }

    bool at_end() {
        skip_space();
        return text_.empty();
    }

    /// Returns a quoted string without escapes.
    std::optional<std::string_view> string() {
        skip_space();
        if (!text_.empty() && text_.front() == 'u')
            text_.remove_prefix(1);  // Python 2
        if (text_.empty() || (text_.front() != '\'' && text_.front() != '"'))
            return std::nullopt;
        const std::size_t end = text_.find(text_.front(), 1);
        if (end == std::string_view::npos)
            return std::nullopt;
        const std::string_view content = text_.substr(1, end - 1);
        if (content.find_first_of("\\\n\r") != std::string_view::npos)
            return std::nullopt;
        text_.remove_prefix(end + 1);
        return content;
    }

    std::optional<bool> boolean() {
        skip_space();
        for (const bool value : {false, true}) {
            const std::string_view word = value ? "True" : "False";
            if (text_.substr(0, word.size()) == word) {
                text_.remove_prefix(word.size());
                return value;
            }
        }
        return std::nullopt;
    }

    std::optional<std::uint64_t> number() {
        skip_space();
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
        if (error != std::errc{})
            return std::nullopt;
        const auto digits = static_cast<std::size_t>(end - text_.data());
        if (digits > 1 && text_.front() == '0')
            return std::nullopt;
        text_.remove_prefix(digits);
        return value;
    }

    /// Parses (), (5,), (2, 3), (2, 3,); but (5) is no tuple.
    std::optional<std::vector<std::uint64_t>> tuple() {
        std::vector<std::uint64_t> out;
        if (!take('('))
            return std::nullopt;
        bool comma = true;
        while (!take(')')) {
            const auto value = number();
            if (!comma || !value || out.size() == kMaxNumpyDimensions)
                return std::nullopt;
            out.push_back(*value);
            comma = take(',');
        }
        if (out.size() == 1 && !comma)
            return std::nullopt;
        return out;
    }

  private:
    void skip_space() {
        const std::size_t at = text_.find_first_not_of(" \t\r\n\f");
        text_.remove_prefix(at == std::string_view::npos ? text_.size() : at);
    }

    std::string_view text_;
};

bool is_size_of_kind(char kind, std::uint32_t size) {
    switch (kind) {
        case 'b':
            return size == 1;
        case 'i':
        case 'u':
            return size == 1 || size == 2 || size == 4 || size == 8;
        case 'f':
            return size == 2 || size == 4 || size == 8 || size == 16;
        case 'c':
            return size == 8 || size == 16 || size == 32;
        case 'S':
        case 'U':
            return size != 0;
        default:
            return false;
    }
}

constexpr std::uint32_t kMaxItemSize = 0x7FFFFFFF;  // numpy's own
constexpr std::uint32_t kUtf32 = 4;                 // a U counts characters

/// Splits '<u2' into order, kind and size.
bool read_dtype(std::string_view text, NumpyHeader& out) {
    char order = '=';
    if (!text.empty() && std::string_view("<>=|").find(text.front()) != std::string_view::npos) {
        order = text.front();
        text.remove_prefix(1);
    }
    if (text.size() < 2)
        return false;
    out.kind = text.front() == 'a' ? 'S' : text.front();
    text.remove_prefix(1);
    std::uint32_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc{} || end != text.data() + text.size())
        return false;
    const std::uint32_t unit = out.kind == 'U' ? kUtf32 : 1;
    if (size > kMaxItemSize / unit)
        return false;
    out.item_size = size * unit;
    const bool no_order = out.item_size == 1 || out.kind == 'S';
    out.byte_order = no_order ? '|' : order == '>' ? '>' : '<';
    return is_size_of_kind(out.kind, out.item_size);
}

}  // namespace

std::string_view name_of(NumpyError error) noexcept {
    static constexpr std::array<std::string_view, static_cast<std::size_t>(NumpyError::count_)> names{
        "syntax", "wrong_keys", "unsupported_dtype"};
    const auto index = static_cast<std::size_t>(error);
    return index < names.size() ? names[index] : "unknown";
}

tl::expected<NumpyHeader, NumpyError> parse_numpy_header(std::string_view text) {
    Reader reader(text);
    if (!reader.take('{'))
        return tl::unexpected(NumpyError::syntax);
    NumpyHeader out;
    bool have_descr = false, have_order = false, have_shape = false;
    bool comma = true;
    while (!reader.take('}')) {
        const auto key = reader.string();
        if (!comma || !key || !reader.take(':'))
            return tl::unexpected(NumpyError::syntax);
        if (*key == "descr" && !have_descr) {
            if (reader.take('['))  // fields of a structured type
                return tl::unexpected(NumpyError::unsupported_dtype);
            const auto descr = reader.string();
            if (!descr)
                return tl::unexpected(NumpyError::syntax);
            if (!read_dtype(*descr, out))
                return tl::unexpected(NumpyError::unsupported_dtype);
            have_descr = true;
        } else if (*key == "fortran_order" && !have_order) {
            const auto order = reader.boolean();
            if (!order)
                return tl::unexpected(NumpyError::syntax);
            out.fortran_order = *order;
            have_order = true;
        } else if (*key == "shape" && !have_shape) {
            auto shape = reader.tuple();
            if (!shape)
                return tl::unexpected(NumpyError::syntax);
            out.shape = std::move(*shape);
            have_shape = true;
        } else {
            return tl::unexpected(NumpyError::wrong_keys);
        }
        comma = reader.take(',');
    }
    if (!reader.at_end())
        return tl::unexpected(NumpyError::syntax);
    if (!have_descr || !have_order || !have_shape)
        return tl::unexpected(NumpyError::wrong_keys);
    return out;
}

std::string to_string(const NumpyHeader& header) {
    std::string shape;
    for (const std::uint64_t dimension : header.shape)
        shape += fmt::format("{}{}", shape.empty() ? "" : ", ", dimension);
    if (header.shape.size() == 1)
        shape += ',';
    return fmt::format("{{'descr': '{}{}{}', 'fortran_order': {}, 'shape': ({})}}", header.byte_order,
                       header.kind, header.kind == 'U' ? header.item_size / kUtf32 : header.item_size,
                       header.fortran_order ? "True" : "False", shape);
}

}  // namespace spead::wire
