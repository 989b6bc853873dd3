// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/heap_packet.hpp"

namespace spead::heap::test {

/// Makes random packets: senders that cut heaps into packets, a network that loses, repeats, delays and
/// truncates them, and an attacker who changes fields.
class Traffic {
  public:
    struct Settings {
        std::size_t senders = 1;
        std::size_t heaps = 100;  ///< of each sender
        std::uint64_t longest_heap = 300;
        std::size_t longest_payload = 60;
        double loss = 0.02;
        double repeat = 0.05;
        double hostile = 0.05;        ///< packets with a changed field
        double unsized = 0.1;         ///< heaps with HEAP_LENGTH in some packets or in none
        double control = 0.05;        ///< heaps that carry stream control
        std::size_t reordering = 3;   ///< how far packets overtake each other
        bool counts_collide = false;  ///< senders use the same heap counts
        bool stops = false;           ///< control may be a stop
        bool one_pattern = false;     ///< a byte of a heap is the same in every packet
    };

    Traffic(const Settings& settings, std::uint64_t seed) : s_(settings), random_(seed) {
        std::vector<std::pair<double, Packet>> order;
        for (std::size_t sender = 0; sender < s_.senders; sender++) {
            double at = 0;
            const double pace = 0.5 + chance();
            for (std::uint64_t i = 0; i < s_.heaps; i++)
                for (Packet& p : heap(s_.counts_collide ? i : i * s_.senders + sender,
                                      static_cast<std::uint32_t>(sender)))
                    network(order, std::move(p), at += pace);
        }
        std::stable_sort(order.begin(), order.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        std::uint64_t now = 1;
        for (auto& [at, p] : order) {
            now += random_() % 4;
            packets_.push_back(p.time(now));
        }
    }

    const std::vector<Packet>& packets() const { return packets_; }

  private:
    double chance() { return static_cast<double>(random_() % 1'000'000) / 1e6; }
    std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : random_() % n; }

    std::vector<Packet> heap(std::uint64_t key, std::uint32_t sender) {
        const std::uint64_t length = below(10) == 0 ? below(3) : below(s_.longest_heap + 1);
        const bool whole_length = chance() >= s_.unsized;
        const std::uint64_t tells = below(4);  // when not all packets do: none, some, first, last
        const bool control = chance() < s_.control;
        const bool items = !control || below(3) == 0;
        std::vector<Packet> out;
        std::uint64_t at = 0;
        do {
            const std::uint64_t step =
                std::min(length - at, below(12) == 0 ? 0 : 1 + below(s_.longest_payload));
            const bool last = at + step == length;
            Packet p(key);
            p.at(at, step, salt()).from(sender);
            if (whole_length || (tells == 1 && below(2) == 0) || (tells == 2 && out.empty()) ||
                (tells == 3 && last))
                p.of(length);
            if (items && (out.empty() || below(5) == 0))
                p.items(words()).pointing_at(below(length + 1));
            if (control && out.empty()) {
                if (s_.stops && below(4) == 0)
                    p.stop();
                else
                    p.control();
            }
            if (chance() < s_.hostile)
                change(p, length);
            out.push_back(std::move(p));
            at += step;
            if (step == 0 && length == 0)
                break;
        } while (at < length);
        return out;
    }

    std::uint64_t salt() { return s_.one_pattern ? 0 : below(1'000'000); }

    std::vector<std::uint64_t> words() {
        std::vector<std::uint64_t> out(1 + (below(8) == 0 ? below(40) : below(4)));
        for (std::uint64_t& w : out)
            w = below(200) << (below(2) == 0 ? 0 : 40);
        return out;
    }

    void change(Packet& p, std::uint64_t length) {
        const PacketView v = p.view();
        const std::uint64_t far = std::uint64_t{1} << below(56);
        switch (below(9)) {
            case 0:
                p.flavour(48);
                break;
            case 1:  // a length that its bytes allow, as the decoder makes sure
                p.of(v.offset + v.payload_length + below(100));
                break;
            case 2:
                p.of(v.offset + v.payload_length + far);
                break;
            case 3:
                p.items(words()).pointing_at(length + below(3));
                break;
            case 4:
                p.items(words()).pointing_at(far);
                break;
            case 5: {  // bytes that begin elsewhere
                const std::uint64_t offset = below(length + 1);
                p.at(offset,
                     static_cast<std::size_t>(std::min<std::uint64_t>(v.payload_length, length - offset)),
                     salt());
                break;
            }
            case 6:  // no length, and bytes past the end
                p = Packet(v.key).at(length + below(2) * far, 1 + below(50), salt());
                break;
            case 7:  // cut short
                p.at(v.offset, below(v.payload_length + 1), salt());
                break;
            default:  // nothing in it
                p = Packet(v.key).of(length);
                break;
        }
    }

    void network(std::vector<std::pair<double, Packet>>& order, Packet p, double at) {
        if (chance() < s_.loss)
            return;
        const auto jitter = [&] { return chance() * static_cast<double>(s_.reordering); };
        if (chance() < s_.repeat)
            order.emplace_back(at + jitter() + static_cast<double>(below(200)), p);
        order.emplace_back(at + jitter(), std::move(p));
    }

    Settings s_;
    std::mt19937_64 random_;
    std::vector<Packet> packets_;
};

}  // namespace spead::heap::test
