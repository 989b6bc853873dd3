// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <string>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text_reader.hpp"
#include "recv/filter_expression.hpp"

/// Parses text into a FilterExpression: words, a tree, then tests that jump forward only.
namespace spead::recv {

namespace {

constexpr std::array<std::string_view, 6> kSubjects{"item",   "heap",        "payload",
                                                    "source", "destination", "control"};

constexpr std::array<std::string_view, 4> kFilterSigns{"==", "!=", "<=", ">="};
constexpr TextReader::Kind kFilterText{"filter", "./:", kFilterSigns};

}  // namespace

class FilterParser {
  public:
    FilterParser(std::string_view text, std::string_view where) : reader_(kFilterText, text, where) {}

    FilterExpression parse() {
        const std::unique_ptr<Node> tree = disjunction();
        if (!reader_.token().empty())
            reader_.fail("`and`, `or` or the end");
        FilterExpression expression;
        expression.start_ = emit(*tree, FilterExpression::kKeep, FilterExpression::kDrop, expression.tests_);
        return expression;
    }

  private:
    using Test = FilterExpression::Test;
    using Field = FilterExpression::Field;
    using Compare = FilterExpression::Compare;
    using Adjust = FilterExpression::Adjust;

    enum class Kind : std::uint8_t { test, both, either, negated };
    struct Node {
        Kind kind = Kind::test;
        Test test;
        std::unique_ptr<Node> left;
        std::unique_ptr<Node> right;
    };

    std::unique_ptr<Node> join(Kind kind, std::unique_ptr<Node> left, std::unique_ptr<Node> right) {
        auto node = std::make_unique<Node>();
        node->kind = kind;
        node->left = std::move(left);
        node->right = std::move(right);
        return node;
    }

    std::unique_ptr<Node> disjunction() {
        auto left = conjunction();
        while (reader_.take("or"))
            left = join(Kind::either, std::move(left), conjunction());
        return left;
    }

    std::unique_ptr<Node> conjunction() {
        auto left = negation();
        while (reader_.take("and"))
            left = join(Kind::both, std::move(left), negation());
        return left;
    }

    std::unique_ptr<Node> negation() {
        if (reader_.token() == "not" || reader_.token() == "(") {
            if (++depth_ > FilterExpression::kMaxDepth)
                reader_.fail(fmt::format("a filter with at most {} parentheses and `not` inside each other",
                                         FilterExpression::kMaxDepth));
            std::unique_ptr<Node> node;
            if (reader_.take("not")) {
                node = join(Kind::negated, negation(), nullptr);
            } else {
                reader_.next();
                node = disjunction();
                if (!reader_.take(")"))
                    reader_.fail("`and`, `or` or `)`");
            }
            depth_--;
            return node;
        }
        auto node = std::make_unique<Node>();
        if (++tests_ > FilterExpression::kMaxTests)
            reader_.fail(fmt::format("at most {} tests", FilterExpression::kMaxTests));
        node->test = test();
        return node;
    }

    Test test() {
        Test t;
        if (reader_.take("control"))
            return t;
        if (reader_.take("source")) {
            t.field = Field::source;
            return address_test(t);
        }
        if (reader_.take("destination")) {
            t.field = Field::destination;
            return address_test(t);
        }
        if (reader_.take("item")) {
            t.field = Field::item;
            const std::size_t at = reader_.at();
            t.id = reader_.number("the item's id, as in item 0x1600");
            if (t.id >= wire::item::kHeapCnt && t.id <= wire::item::kPayloadLength)
                throw_usage(reader_.where(),
                            "the filter has item {} at character {}, which belongs to the packet and is no "
                            "item of the heap; give `heap` for the heap count, `payload` for the bytes of "
                            "payload, or another id",
                            t.id, at + 1);
        } else if (reader_.take("heap")) {
            t.field = Field::heap;
        } else if (reader_.take("payload")) {
            t.field = Field::payload;
        } else {
            reader_.fail(fmt::format("{}, `not` or `(`", list_of(kSubjects)),
                         hint(reader_.token(), kSubjects));
        }
        return number_test(t);
    }

    Test number_test(Test t) {
        if (reader_.take("&")) {
            t.adjust = Adjust::mask;
            t.by = reader_.number("a mask, as in item 0x1600 & 0xff == 3");
        } else if (reader_.take("%")) {
            t.adjust = Adjust::modulo;
            const std::size_t at = reader_.at();
            t.by = reader_.number("a number, as in heap % 4 == 1");
            if (t.by == 0)
                throw_usage(reader_.where(), "the filter divides by 0 at character {}; give 1 or more",
                            at + 1);
        }
        const std::optional<Compare> c = comparison();
        if (!c) {
            if (t.field == Field::item && t.adjust == Adjust::none)
                return t;
            reader_.fail("`==`, `!=`, `<`, `<=`, `>` or `>=`");
        }
        t.compare = *c;
        const std::size_t at = reader_.at();
        t.value = reader_.number("a number to compare with");
        if (t.adjust == Adjust::modulo && t.compare == Compare::equal && t.value >= t.by)
            throw_usage(reader_.where(),
                        "the filter has {} at character {}, and a number % {} cannot be that; give 0 to {}",
                        t.value, at + 1, t.by, t.by - 1);
        return t;
    }

    Test address_test(Test t) {
        if (reader_.take("in"))
            return prefix_test(t);
        const std::optional<Compare> c = comparison();
        if (!c || (*c != Compare::equal && *c != Compare::not_equal))
            reader_.fail("`in`, `==` or `!=`");
        t.compare = *c;
        const IpAddress wanted = address(reader_.token());
        if (wanted.is_v4())
            t.value = wanted.v4().value;
        else
            compare_with(t, wanted.v6(), 128);
        reader_.next();
        return t;
    }

    Test prefix_test(Test t) {
        const std::size_t at = reader_.at();
        const std::string_view token = reader_.token();
        const std::size_t slash = token.find('/');
        const IpAddress wanted = address(token.substr(0, slash));
        const unsigned most = wanted.is_v4() ? 32 : 128;
        unsigned bits = most;
        if (slash != std::string_view::npos) {
            const auto digits = token.substr(slash + 1);
            const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
            if (error != std::errc{} || end != digits.data() + digits.size() || bits > most)
                reader_.fail(fmt::format("an address and 0 to {} bits of it, as in {}", most,
                                         wanted.is_v4() ? "10.0.0.0/8" : "fd00::/8"));
        }
        const IpAddress first = first_of(wanted, bits);
        if (first != wanted)
            throw_usage(reader_.where(),
                        "the filter has {} at character {}, an address with bits beyond the first {}; "
                        "give {}/{}",
                        TextReader::shown(token), at + 1, bits, to_string(first), bits);
        t.compare = Compare::equal;
        if (wanted.is_v4()) {
            t.value = wanted.v4().value;
            t.adjust = Adjust::mask;
            t.by = upper_bits(32 + bits) & 0xFFFFFFFF;
            t.by |= FilterExpression::kIpv6;
        } else {
            compare_with(t, wanted.v6(), bits);
        }
        reader_.next();
        return t;
    }

    static void compare_with(Test& t, const Ipv6& wanted, unsigned bits) {
        t.field = t.field == Field::source ? Field::source6 : Field::destination6;
        t.id = wanted.high;
        t.value = wanted.low;
        t.by = bits;
    }

    /// Returns the mask of the first bits of 64.
    static std::uint64_t upper_bits(unsigned bits) {
        return bits == 0 ? 0 : ~std::uint64_t{0} << (64 - bits);
    }

    /// Returns the address with its first `bits` only.
    static IpAddress first_of(const IpAddress& address, unsigned bits) {
        if (address.is_v4())
            return {address.v4().value & static_cast<std::uint32_t>(upper_bits(32 + bits))};
        return Ipv6{address.v6().high & upper_bits(std::min(bits, 64U)),
                    address.v6().low & upper_bits(bits - std::min(bits, 64U))};
    }

    IpAddress address(std::string_view text) const {
        try {
            return parse_ip(text);
        } catch (const UsageError&) {
            reader_.fail("an IPv4 or IPv6 address, as in 10.0.0.7 or fd00::7");
        }
    }

    /// Parses a comparison; without one the place stays.
    std::optional<Compare> comparison() {
        static constexpr std::array<std::pair<std::string_view, Compare>, 6> kSigns{
            {{"==", Compare::equal},
             {"!=", Compare::not_equal},
             {"<", Compare::less},
             {"<=", Compare::less_equal},
             {">", Compare::greater},
             {">=", Compare::greater_equal}}};
        if (reader_.token() == "=")
            reader_.fail("`==`");
        for (const auto& [sign, compare] : kSigns)
            if (reader_.take(sign))
                return compare;
        return std::nullopt;
    }

    /// Emits the tests of the tree after those that may follow them, so that every jump goes towards the
    /// front.
    static std::uint16_t emit(const Node& node, std::uint16_t then, std::uint16_t otherwise,
                              std::vector<Test>& out) {
        switch (node.kind) {
            case Kind::both:
                return emit(*node.left, emit(*node.right, then, otherwise, out), otherwise, out);
            case Kind::either:
                return emit(*node.left, then, emit(*node.right, then, otherwise, out), out);
            case Kind::negated:
                return emit(*node.left, otherwise, then, out);
            case Kind::test:
                break;
        }
        out.push_back(node.test);
        out.back().then = then;
        out.back().otherwise = otherwise;
        return static_cast<std::uint16_t>(out.size() - 1);
    }

    TextReader reader_;
    std::size_t depth_ = 0;
    std::size_t tests_ = 0;
};

FilterExpression FilterExpression::parse(std::string_view text, std::string_view where) {
    if (text.size() > FilterExpression::kMaxText)
        throw_usage(std::string(where), "a filter of {} characters is too long; give at most {}", text.size(),
                    FilterExpression::kMaxText);
    return FilterParser(text, where).parse();
}

}  // namespace spead::recv
