// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "chunk/placement.hpp"

/// Makes valid placements of every kind, for tests.
namespace spead::chunk {

class RandomPlacement {
  public:
    explicit RandomPlacement(std::uint64_t seed) : random_(seed) {}

    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    bool maybe() { return below(2) == 0; }

    /// Makes a placement of at most `heaps` heaps per axis, whose values fit into `bits` bits.
    Placement make(std::uint32_t heaps, unsigned bits) {
        Placement p;
        const std::size_t axes = 1 + below(4);
        const std::size_t time = below(axes);
        for (std::size_t i = 0; i < axes; i++) {
            Axis axis;
            axis.name = i == time && maybe() ? "time" : std::string("a").append(std::to_string(i));
            axis.is_time = i == time;
            axis.count = static_cast<std::uint32_t>(1 + below(heaps));
            axis.term = term(axis.count, bits, axis.is_time, 0x1000 + i);
            p.axes.push_back(axis);
        }
        for (std::size_t i = below(3); i > 0; i--)
            p.extras.push_back({1U << below(4), term(static_cast<std::uint32_t>(1 + below(9)), bits, false,
                                                     0x1000 + below(8))});
        p.wrap_bits = maybe() ? bits : static_cast<unsigned>(bits + below(65 - bits));
        p.way = static_cast<Way>(below(3));
        lay_out(p);
        p.packet_bytes = maybe() ? 0 : static_cast<std::uint32_t>(1 + below(p.heap_bytes));
        return p;
    }

    /// Makes a term that gives the numbers 0 to count - 1, and more for the time.
    Term term(std::uint32_t count, unsigned bits, bool is_time, std::uint64_t id) {
        Term t;
        const std::uint64_t kind = below(8);
        if (kind == 0 && !is_time) {
            t.kind = Term::Kind::constant;
            t.first = below(count);
            return t;
        }
        t.kind = kind == 1               ? Term::Kind::heap
                 : kind == 2 && !is_time ? Term::Kind::endpoint
                                         : Term::Kind::item;
        if (t.kind == Term::Kind::item)
            t.id = id;
        if (t.kind == Term::Kind::endpoint)
            bits = 16;
        if (kind == 3 && !is_time) {
            list(t, count, bits);
            return t;
        }
        t.shift = maybe() ? 0 : static_cast<unsigned>(below(5));
        const std::uint64_t room = (std::uint64_t{1} << (bits - t.shift)) - 1;
        t.step = maybe() ? std::uint64_t{1} << below(4) : 1 + below(9);
        t.truncate = below(4) == 0;
        const std::uint64_t needed = t.step * count;
        t.first = maybe() ? 0 : below(std::min<std::uint64_t>(room - needed, 1000) + 1);
        if (!is_time && maybe())
            t.mask = ~std::uint64_t{0} >> std::countl_zero(t.first + needed);
        return t;
    }

  private:
    void list(Term& t, std::uint32_t count, unsigned bits) {
        t.shift = static_cast<unsigned>(below(3));
        std::set<std::uint64_t> values;
        while (values.size() < count)
            values.insert(below(std::uint64_t{1} << std::min(bits - t.shift, 14U)));
        t.list.assign(values.begin(), values.end());
        std::shuffle(t.list.begin(), t.list.end(), random_);
        if (maybe())
            t.mask = ~std::uint64_t{0} >> std::countl_zero(*values.rbegin() | 1);
    }

    /// Gives the axes and rows strides in any order, with gaps or without; or none.
    void lay_out(Placement& p) {
        const std::uint64_t piece = 1 + below(40);
        if (maybe()) {
            p.heap_bytes = piece;
            return;
        }
        const std::uint64_t rows = maybe() ? 1 + below(5) : 0;
        p.heap_bytes = rows == 0 ? piece : rows * piece;
        std::vector<std::size_t> order(p.axes.size() + (rows == 0 ? 0 : 1));
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), random_);
        std::uint64_t reach = piece;
        for (const std::size_t i : order) {
            const std::uint64_t stride = reach + (maybe() ? 0 : below(10));
            if (i == p.axes.size()) {
                p.rows = {piece, stride};
                reach += (rows - 1) * stride;
            } else {
                p.axes[i].stride = stride;
                reach += (p.axes[i].count - 1) * stride;
            }
        }
    }

    std::mt19937_64 random_;
};

}  // namespace spead::chunk
