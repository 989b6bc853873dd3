// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <limits>
#include <string>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text_reader.hpp"
#include "chunk/placement.hpp"

/// Parses text into a Placement. The parser judges the text and plain ranges, at their place in the text;
/// Placement::check() judges the rest.
namespace spead::chunk {

namespace {

constexpr std::array<std::string_view, 10> kStatements{"heap",     "axis",   "time",    "extra",     "rows",
                                                       "presence", "direct", "tracked", "automatic", "wrap"};
constexpr std::array<std::string_view, 4> kSources{"item", "heap", "endpoint", "constant"};
constexpr std::array<std::string_view, 4> kWidths{"u8", "u16", "u32", "u64"};
constexpr std::array<std::string_view, 2> kPresences{"packet", "heap"};
constexpr std::array<std::string_view, 2> kPlacementSigns{">>", "//"};
constexpr TextReader::Kind kPlacementText{"placement", "", kPlacementSigns};

class PlacementParser {
  public:
    PlacementParser(std::string_view text, std::string_view where) : reader_(kPlacementText, text, where) {}

    Placement parse() {
        while (!reader_.token().empty()) {
            statement();
            if (!reader_.take(";") && !reader_.token().empty())
                reader_.fail("`;` or the end");
        }
        if (!seen_[0])
            reader_.fail("the bytes of a heap, as in heap 5120");
        return std::move(placement_);
    }

  private:
    void statement() {
        const std::string_view word = reader_.token();
        std::size_t i = 0;
        while (i < kStatements.size() && kStatements[i] != word)
            i++;
        if (i == kStatements.size())
            reader_.fail(list_of(kStatements), hint(word, kStatements));
        const bool repeats = word == "axis" || word == "time" || word == "extra";
        if (seen_[i] && !repeats)
            reader_.fail("each statement but `axis` and `extra` once", ", for the second time");
        seen_[i] = true;
        reader_.next();
        if (word == "heap")
            placement_.heap_bytes = positive("the bytes of a heap, as in heap 5120");
        else if (word == "axis" || word == "time")
            axis(word == "time");
        else if (word == "extra")
            extra();
        else if (word == "rows")
            rows();
        else if (word == "presence")
            presence();
        else if (word == "wrap")
            placement_.wrap_bits = narrow<unsigned>("1 to 64 bits, as in wrap 48", 1, 64);
        else
            way(word);
    }

    void way(std::string_view word) {
        if (way_given_)
            throw_usage(reader_.where(),
                        "the placement has two of `direct`, `tracked` and `automatic`; give one");
        way_given_ = true;
        placement_.way = word == "direct" ? Way::direct : word == "tracked" ? Way::tracked : Way::automatic;
    }

    void axis(bool is_time) {
        if (placement_.axes.size() == Placement::kMaxAxes)
            throw_usage(reader_.where(), "the placement has too many axes; give at most {}",
                        Placement::kMaxAxes);
        Axis axis;
        axis.is_time = is_time;
        if (!is_time || reader_.token() != ":") {
            const std::string_view wanted = is_time ? "`:` or the time's name, as in time: item 0x1600 [8192]"
                                                    : "the axis's name, as in axis pol: item 0x3101 & 1 [2]";
            axis.name = name(wanted);
        } else {
            axis.name = "time";
        }
        reader_.want(":");
        axis.term = term();
        if (reader_.token() == "[") {
            reader_.next();
            axis.count = narrow<std::uint32_t>("the number of places, as in [2]", 1,
                                               std::numeric_limits<std::uint32_t>::max());
            reader_.want("]");
        } else if (!axis.term.list.empty()) {
            axis.count = static_cast<std::uint32_t>(axis.term.list.size());
        } else {
            reader_.fail(fmt::format("{}`[` and the number of places, as in [2]", may_follow_));
        }
        if (reader_.take("by"))
            axis.stride = positive("the bytes from one place to the next, as in by 5120");
        placement_.axes.push_back(std::move(axis));
    }

    std::string name(std::string_view wanted) {
        const std::string_view token = reader_.token();
        const bool good =
            !token.empty() && ((token[0] >= 'a' && token[0] <= 'z') || (token[0] >= 'A' && token[0] <= 'Z'));
        if (!good)
            reader_.fail(wanted);
        if (token.size() > Axis::kMaxName)
            reader_.fail(fmt::format("a name of at most {} characters", Axis::kMaxName));
        reader_.next();
        return std::string(token);
    }

    Term term() {
        Term t;
        may_follow_ = "";
        if (reader_.take("item")) {
            const std::size_t at = reader_.at();
            t.id = reader_.number("the item's id, as in item 0x1600");
            if (t.id <= 4 || t.id > Term::kMaxId)
                throw_usage(
                    reader_.where(),
                    "the placement has item {:#x} at character {}, which is no item of a heap; give `heap` "
                    "for the heap count, or an id from 0x5 to {:#x}",
                    t.id, at + 1, Term::kMaxId);
        } else if (reader_.take("heap")) {
            t.kind = Term::Kind::heap;
        } else if (reader_.take("endpoint")) {
            t.kind = Term::Kind::endpoint;
        } else if (reader_.take("constant")) {
            t.kind = Term::Kind::constant;
            t.first = reader_.number("the constant, as in constant 1");
            return t;
        } else {
            reader_.fail(list_of(kSources), hint(reader_.token(), kSources));
        }
        formula(t);
        return t;
    }

    /// Parses the operations of a term. Each may come once, in the order in which they act.
    void formula(Term& t) {
        may_follow_ = "`>>`, `&`, `-`, `/`, `//`, `{` or ";
        if (reader_.take(">>")) {
            t.shift = narrow<unsigned>("a shift of 0 to 63 bits, as in item 0x3102 >> 32", 0, 63);
            may_follow_ = "`&`, `-`, `/`, `//`, `{` or ";
        }
        if (reader_.take("&")) {
            t.mask = reader_.number("a mask, as in item 0x3101 & 1");
            may_follow_ = "`-`, `/`, `//`, `{` or ";
        }
        if (reader_.token() == "{") {
            list(t);
            may_follow_ = "";
            return;
        }
        if (reader_.take("-")) {
            t.first = reader_.number("the value of the first place, as in item 0x4103 - 256");
            may_follow_ = "`/`, `//` or ";
        }
        if (reader_.token() == "/" || reader_.token() == "//") {
            t.truncate = reader_.token() == "//";
            reader_.next();
            t.step = positive("the value from one place to the next, as in item 0x1600 / 4096");
            may_follow_ = "";
        }
    }

    void list(Term& t) {
        do {
            reader_.next();
            if (++listed_ > Placement::kMaxList)
                reader_.fail(fmt::format("at most {} values in all lists together", Placement::kMaxList));
            t.list.push_back(reader_.number("a value, as in {0, 256, 512}"));
        } while (reader_.token() == ",");
        if (!reader_.take("}"))
            reader_.fail("`,` or `}`");
    }

    void extra() {
        if (placement_.extras.size() == Placement::kMaxExtras)
            throw_usage(reader_.where(), "the placement has too many extra values; give at most {}",
                        Placement::kMaxExtras);
        Extra extra;
        std::size_t i = 0;
        while (i < kWidths.size() && kWidths[i] != reader_.token())
            i++;
        if (i == kWidths.size())
            reader_.fail(list_of(kWidths), hint(reader_.token(), kWidths));
        reader_.next();
        extra.bytes = 1U << i;
        reader_.want(":");
        extra.term = term();
        placement_.extras.push_back(std::move(extra));
        if (reader_.token() != ";" && !reader_.token().empty())
            reader_.fail(may_follow_ + "`;` or the end");
    }

    void rows() {
        placement_.rows.bytes = positive("the bytes of a row, as in rows 512 by 65536");
        reader_.want("by");
        placement_.rows.stride = positive("the bytes from one row to the next, as in rows 512 by 65536");
    }

    void presence() {
        if (reader_.take("heap"))
            return;
        if (!reader_.take("packet"))
            reader_.fail(list_of(kPresences), hint(reader_.token(), kPresences));
        placement_.packet_bytes =
            narrow<std::uint32_t>("the payload bytes of a packet, as in presence packet 1024", 1,
                                  std::numeric_limits<std::uint32_t>::max());
    }

    std::uint64_t positive(std::string_view wanted) {
        return reader_.number(wanted, 1, std::numeric_limits<std::uint64_t>::max());
    }

    template <typename T>
    T narrow(std::string_view wanted, std::uint64_t least, std::uint64_t most) {
        return static_cast<T>(reader_.number(wanted, least, most));
    }

    TextReader reader_;
    Placement placement_;
    std::array<bool, kStatements.size()> seen_{};
    bool way_given_ = false;
    std::size_t listed_ = 0;
    std::string may_follow_;  ///< operations that the last term may still have, for errors
};

}  // namespace

Placement Placement::parse(std::string_view text, std::string_view where) {
    if (text.size() > kMaxText)
        throw_usage(std::string(where), "a placement of {} characters is too long; give at most {}",
                    text.size(), kMaxText);
    Placement placement = PlacementParser(text, where).parse();
    placement.check(where);
    return placement;
}

}  // namespace spead::chunk
