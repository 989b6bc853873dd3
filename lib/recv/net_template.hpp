// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/byte_order.hpp"
#include "recv/classifier.hpp"
#include "recv/frame_layout.hpp"
#include "wire/net.hpp"

namespace spead::recv {

/// Recognises the usual frame of one endpoint by its network headers alone, for datagrams of a declared
/// format. As a FlowTemplate does, it leaves any other frame to the parsers, and never decides a refusal.
/// `Ip`: Ipv4Frame or Ipv6Frame.
template <class Ip>
class BasicNetTemplate {
  public:
    /// Learns from a frame that parse_udp accepted and the classifier found. Matches nothing if it has
    /// another shape: the other IP, a VLAN tag, IP options.
    void learn(const std::uint8_t* frame, const wire::UdpView& udp, const Target& target,
               std::uint32_t max_packet_size) noexcept {
        forget();
        if (udp.ipv6 != Ip::kIpv6 || udp.payload_offset != Ip::kHeader || udp.vlan_tags != 0)
            return;
        std::array<std::uint8_t, Ip::kHeader> mask{};
        Ip::mask(HeaderMask(mask.data()), target.by_source);
        for (std::size_t i = 0; i < kUnits; i++)
            units_[i] = {load(frame + at(i)), load(mask.data() + at(i))};
        fixed_sum_ = Ip::fixed_sum(frame);
        max_udp_length_ = std::uint64_t{max_packet_size} + wire::kUdpHeader;
        lane_ = target.lane;
        endpoint_ = target.endpoint;
    }
    void forget() noexcept { max_udp_length_ = 0; }

    /// Returns true when the frame (one segment of `length` bytes) is such a one, and then sets the bytes of
    /// its datagram, which begins at Ip::kHeader. `verify`: checks the IPv4 header's checksum.
    [[gnu::always_inline]] bool match(const std::uint8_t* frame, std::size_t length, bool verify,
                                      std::size_t& datagram) const noexcept {
        if (length < Ip::kHeader) [[unlikely]]
            return false;
        Words differs{};
        for (std::size_t i = 0; i < kUnits; i++)
            differs |= (load(frame + at(i)) ^ units_[i].pattern) & units_[i].mask;
        const std::uint64_t ip_length = load_be16(frame + Ip::kLength);
        const std::uint64_t udp_length = load_be16(frame + Ip::kUdp + 4);
        const bool fits = (udp_length + (Ip::kUdp - Ip::kLengthFrom) == ip_length) &
                          (ip_length + Ip::kLengthFrom <= length) & (udp_length >= wire::kUdpHeader) &
                          (udp_length <= max_udp_length_) & Ip::is_acceptable(frame);
        if (((differs[0] | differs[1]) != 0) | !fits) [[unlikely]]
            return false;
        datagram = udp_length - wire::kUdpHeader;
        return !verify || Ip::sum_is_right(frame, fixed_sum_);
    }

    std::uint16_t lane() const noexcept { return lane_; }
    std::uint16_t endpoint() const noexcept { return endpoint_; }

  private:
    using Words [[gnu::vector_size(16)]] = std::uint64_t;
    static constexpr std::size_t kFirst = 12;  ///< the MAC addresses before it are ignored
    static constexpr std::size_t kUnits = (Ip::kHeader - kFirst + 15) / 16;

    /// Returns the place of 16 bytes. The last ones end the headers.
    static constexpr std::size_t at(std::size_t unit) noexcept {
        return std::min(kFirst + 16 * unit, Ip::kHeader - 16);
    }
    static Words load(const std::uint8_t* from) noexcept {
        Words w;
        std::memcpy(&w, from, sizeof w);
        return w;
    }
    struct Unit {
        Words pattern;
        Words mask;
    };

    std::uint64_t max_udp_length_ = 0;  ///< 0: nothing matches
    std::uint64_t fixed_sum_ = 0;
    std::uint16_t lane_ = 0;
    std::uint16_t endpoint_ = 0;
    std::array<Unit, kUnits> units_{};
};

}  // namespace spead::recv
