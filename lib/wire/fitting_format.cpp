// SPDX-License-Identifier: BSD-3-Clause
#include "wire/fitting_format.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "wire/format_reader.hpp"
#include "wire/known_formats.hpp"

namespace spead::wire {

namespace {

/// Reads packets of one format.
class Candidate {
  public:
    explicit Candidate(const KnownFormat& format)
        : name_(format.name), reader_(PacketFormat::parse(format.text)), tells_(!takes_zeros()) {}

    std::string_view name() const noexcept { return name_; }
    /// Returns whether its packets have anything that a header of zeros lacks: a magic number, or a length.
    bool tells() const noexcept { return tells_; }

    bool takes(const DatagramHead& head) const noexcept {
        std::array<std::uint8_t, PacketFormat::kMaxItems * 8> words;
        FormatReader::Packet packet;
        return reader_.read(head.bytes.data(), head.length, words.data(), packet) !=
               FormatReader::Verdict::malformed;
    }

  private:
    bool takes_zeros() const noexcept { return takes({{}, DatagramHead::kMost, DatagramHead::kMost}); }

    std::string_view name_;
    FormatReader reader_;
    bool tells_;
};

const std::vector<Candidate>& candidates() {
    static const std::vector<Candidate> all = [] {
        std::vector<Candidate> made;
        for (const KnownFormat& format : known_formats())
            made.emplace_back(format);
        return made;
    }();
    return all;
}

/// Returns whether it is a packet of SPEAD, or of a format that a header of zeros does not fit.
bool is_of_one_that_tells(const DatagramHead& head) {
    return (head.have >= 8 && begins_as_spead(head.bytes.data())) ||
           std::ranges::any_of(candidates(), [&](const Candidate& c) { return c.tells() && c.takes(head); });
}

}  // namespace

std::string_view fitting_format(std::span<const DatagramHead> heads) {
    if (heads.empty())
        return {};
    const auto all = [heads](const auto& takes) { return std::ranges::all_of(heads, takes); };
    if (all([](const DatagramHead& h) { return h.have >= 8 && begins_as_spead(h.bytes.data()); }))
        return kSpeadName;
    // A header that is not all there could be one of any format.
    if (!all([](const DatagramHead& h) {
            return h.have == std::min<std::size_t>(h.length, DatagramHead::kMost);
        }))
        return {};
    for (const bool tells : {true, false}) {
        std::string_view found;
        for (const Candidate& c : candidates()) {
            if (c.tells() != tells || !all([&c](const DatagramHead& h) { return c.takes(h); }))
                continue;
            if (!found.empty())
                return {};
            found = c.name();
        }
        if (!found.empty())
            return found;
        // Such a format takes packets of most others, too.
        if (tells && std::ranges::any_of(heads, is_of_one_that_tells))
            return {};
    }
    return {};
}

}  // namespace spead::wire
