// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text_reader.hpp"
#include "wire/known_formats.hpp"
#include "wire/packet_format.hpp"

/// Parses text into a PacketFormat. The parser judges the text and plain ranges, at their place in the text;
/// PacketFormat::check() judges the rest.
namespace spead::wire {

namespace {

constexpr std::array<std::string_view, 11> kFormatStatements{
    "header", "prefix", "little", "big", "field", "item", "require", "invalid", "refuse", "count", "payload"};
constexpr std::array<std::string_view, 4> kFieldWidths{"u8", "u16", "u32", "u64"};
constexpr std::array<std::string_view, 2> kFormatSigns{">>", "//"};
constexpr TextReader::Kind kFormatText{"format", "", kFormatSigns};

class FormatParser {
  public:
    FormatParser(std::string_view text, std::string_view where) : reader_(kFormatText, text, where) {}

    PacketFormat parse() {
        if (const KnownFormat* const known = find_format(reader_.token()); known != nullptr) {
            FormatParser base(known->text, reader_.where());
            format_ = base.parse();
            little_ = base.little_;
            extends_ = true;
            reader_.next();
            end_of_statement("");
        }
        while (!reader_.token().empty()) {
            statement();
            end_of_statement(may_follow_);
        }
        return std::move(format_);
    }

  private:
    void end_of_statement(const std::string& or_else) {
        if (!reader_.take(";") && !reader_.token().empty())
            reader_.fail(or_else + "`;` or the end");
    }

    void statement() {
        const std::string_view word = reader_.token();
        if (std::find(kFormatStatements.begin(), kFormatStatements.end(), word) == kFormatStatements.end()) {
            std::string names;
            if (!extends_ && given_.empty())
                for (const KnownFormat& known : known_formats())
                    names += fmt::format(", {}", known.name);
            reader_.fail(
                fmt::format("{}{}{}", list_of(kFormatStatements), names.empty() ? "" : "; or a known format",
                            names.empty() ? "" : names.substr(1)),
                word == "spead" ? std::string(" (a stream without a format receives SPEAD)")
                : find_format(word) != nullptr
                    ? std::string(", a known format, which a text can only begin with")
                    : hint(word, kFormatStatements));
        }
        may_follow_ = "";
        const TextReader before = reader_;
        reader_.next();
        if (word == "field")
            return field();
        if (word == "item")
            return item();
        if (word == "require")
            return condition(format_.required, "require");
        if (word == "invalid")
            return condition(format_.invalid, "invalid");
        once(before, std::string(word == "big" || word == "little" ? "byte order" : word));
        if (word == "header")
            format_.header =
                narrow<std::size_t>("the bytes of the header, as in header 32", 1, PacketFormat::kMostHeader);
        else if (word == "prefix")
            format_.prefix = narrow<std::size_t>("the bytes before the header, as in prefix 8", 0,
                                                 PacketFormat::kMostHeader);
        else if (word == "count")
            format_.count = sum();
        else if (word == "payload")
            payload();
        else if (word == "refuse")
            refuse();
        else
            order(before, word == "little");
    }

    /// Refuses a second statement of a kind in the user's own text; what a known format said is replaced.
    void once(const TextReader& before, std::string what) {
        if (std::find(given_.begin(), given_.end(), what) != given_.end())
            before.fail(fmt::format("{} once", what), ", for the second time");
        given_.push_back(std::move(what));
    }

    void order(const TextReader& before, bool little) {
        if (std::any_of(given_.begin(), given_.end(), [](const auto& g) { return g.starts_with("field "); }))
            before.fail("the byte order before the first field");
        little_ = little;
    }

    void field() {
        const TextReader before = reader_;
        PacketFormat::Field f;
        f.name = name();
        once(before, "field " + f.name);
        reader_.want(":");
        const auto* const width = std::find(kFieldWidths.begin(), kFieldWidths.end(), reader_.token());
        if (width == kFieldWidths.end())
            reader_.fail(list_of(kFieldWidths), hint(reader_.token(), kFieldWidths));
        f.bytes = 1U << (width - kFieldWidths.begin());
        reader_.next();
        if (!reader_.take("at"))
            reader_.fail("`at` and the first byte, as in u32 at 0");
        f.at = narrow<std::size_t>("the field's first byte, as in at 0", 0, PacketFormat::kMostHeader - 1);
        f.little = little_;
        may_follow_ = "`little`, `big`, `>>`, `&`, ";
        if (reader_.token() == "little" || reader_.token() == "big") {
            f.little = reader_.token() == "little";
            reader_.next();
            may_follow_ = "`>>`, `&`, ";
        }
        if (reader_.take(">>")) {
            f.shift = narrow<unsigned>("a shift of 0 to 63 bits, as in u32 at 0 >> 16", 0, 63);
            may_follow_ = "`&`, ";
        }
        if (reader_.take("&")) {
            f.mask = reader_.number("a mask, as in u32 at 0 & 0xFFFF");
            may_follow_ = "";
        }
        const auto same =
            std::find_if(format_.fields.begin(), format_.fields.end(),
                         [&](const PacketFormat::Field& other) { return other.name == f.name; });
        if (same != format_.fields.end()) {
            *same = std::move(f);
            return;
        }
        limit(before, format_.fields.size(), PacketFormat::kMaxFields, "fields");
        format_.fields.push_back(std::move(f));
    }

    void item() {
        const TextReader before = reader_;
        PacketFormat::Item item;
        item.id = reader_.number("the item's id, from 7 to 0x7FFF, as in item 0x1600", PacketFormat::kLeastId,
                                 PacketFormat::kMaxId);
        once(before, fmt::format("item {:#x}", item.id));
        reader_.want(":");
        item.value = sum();
        const auto same = std::find_if(format_.items.begin(), format_.items.end(),
                                       [&](const PacketFormat::Item& other) { return other.id == item.id; });
        if (same != format_.items.end()) {
            *same = std::move(item);
            return;
        }
        limit(before, format_.items.size(), PacketFormat::kMaxItems, "items");
        format_.items.push_back(std::move(item));
    }

    void condition(std::vector<PacketFormat::Condition>& conditions, std::string_view what) {
        const TextReader before = reader_;
        PacketFormat::Condition c;
        c.field = known_field();
        once(before, fmt::format("{} {}", what, format_.fields[c.field].name));
        reader_.want("=");
        do {
            c.values.push_back(reader_.number("a value, as in require magic = 0xBEADFEED"));
            if (c.values.size() > PacketFormat::kMaxValues)
                before.fail(fmt::format("at most {} values", PacketFormat::kMaxValues));
        } while (reader_.take(","));
        may_follow_ = "`,`, ";
        const auto same =
            std::find_if(conditions.begin(), conditions.end(),
                         [&](const PacketFormat::Condition& other) { return other.field == c.field; });
        if (same != conditions.end()) {
            *same = std::move(c);
            return;
        }
        limit(before, conditions.size(), PacketFormat::kMaxConditions, "conditions");
        conditions.push_back(std::move(c));
    }

    void refuse() {
        if (!reader_.take("spead"))
            reader_.fail("`spead`, as in refuse spead");
        format_.refuses_spead = true;
    }

    PacketFormat::Sum sum() {
        PacketFormat::Sum sum;
        do {
            if (sum.size() == PacketFormat::kMaxTerms)
                reader_.fail(fmt::format("at most {} terms", PacketFormat::kMaxTerms));
            sum.push_back(term());
        } while (reader_.take("+"));
        return sum;
    }

    PacketFormat::Term term() {
        PacketFormat::Term t;
        t.field = known_field();
        may_follow_ = "`-`, `/`, `//`, `*`, `+`, ";
        if (reader_.take("-")) {
            t.first = reader_.number("the value of the first place, as in channel - 256");
            may_follow_ = "`/`, `//`, `*`, `+`, ";
        }
        if (reader_.token() == "/" || reader_.token() == "//") {
            t.truncate = reader_.token() == "//";
            reader_.next();
            t.step = positive("the value from one place to the next, as in channel / 192");
            may_follow_ = "`*`, `+`, ";
        }
        if (reader_.take("*")) {
            t.times = positive("a factor, as in second * 25600");
            may_follow_ = "`+`, ";
        }
        return t;
    }

    void payload() {
        format_.length.reset();
        if (reader_.take("rest"))
            return;
        PacketFormat::Length l;
        l.field = known_field();
        may_follow_ = "`*`, `-`, ";
        if (reader_.take("*")) {
            l.times = positive("a factor, as in payload length * 8 - 32");
            may_follow_ = "`-`, ";
        }
        if (reader_.take("-")) {
            l.less = reader_.number("the bytes that are no payload, as in payload length * 8 - 32", 0,
                                    PacketFormat::kMaxPayload);
            may_follow_ = "";
        }
        format_.length = l;
    }

    std::size_t known_field() {
        const auto it = std::find_if(format_.fields.begin(), format_.fields.end(),
                                     [&](const PacketFormat::Field& f) { return f.name == reader_.token(); });
        if (it == format_.fields.end())
            reader_.fail("the name of a field that is declared before, as in field sequence: u64 at 0");
        reader_.next();
        return static_cast<std::size_t>(it - format_.fields.begin());
    }

    std::string name() {
        const std::string_view token = reader_.token();
        const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
        if (token.empty() || !letter(token[0]) || token == "rest")
            reader_.fail("the field's name, as in field sequence: u64 at 0");
        if (token.size() > PacketFormat::kMaxName)
            reader_.fail(fmt::format("a name of at most {} characters", PacketFormat::kMaxName));
        reader_.next();
        return std::string(token);
    }

    static void limit(const TextReader& before, std::size_t have, std::size_t most, std::string_view what) {
        if (have == most)
            before.fail(fmt::format("at most {} {}", most, what));
    }

    std::uint64_t positive(std::string_view wanted) {
        return reader_.number(wanted, 1, std::numeric_limits<std::uint64_t>::max());
    }

    template <typename T>
    T narrow(std::string_view wanted, std::uint64_t least, std::uint64_t most) {
        return static_cast<T>(reader_.number(wanted, least, most));
    }

    TextReader reader_;
    PacketFormat format_;
    bool extends_ = false;
    bool little_ = false;
    std::vector<std::string> given_;  ///< parts that the text has had, each of which it may have once
    std::string may_follow_;          ///< words that the statement may still have, for errors
};

}  // namespace

PacketFormat PacketFormat::parse(std::string_view text, std::string_view where) {
    if (text.size() > kMaxText)
        throw_usage(std::string(where), "a format of {} characters is too long; give at most {}", text.size(),
                    kMaxText);
    PacketFormat format = FormatParser(text, where).parse();
    format.check(where);
    return format;
}

}  // namespace spead::wire
