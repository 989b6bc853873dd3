// SPDX-License-Identifier: BSD-3-Clause
#include "spead/placement.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"
#include "spead/placement_access.hpp"

namespace spead {

namespace {

constexpr const char* kInPlacement = "placement";
/// Names the operators of a term, in their order.
constexpr std::array kOperators{"", ">>", "&", "-", "/", "in()"};
enum Operator : unsigned { kShift = 1, kMask, kSubtract, kDivide, kList };

}  // namespace

Term::Term(Kind kind, std::uint64_t number) noexcept : kind_(kind), number_(number) {}

/// Throws UsageError unless all operators so far come before this one.
void Term::need_before(unsigned step) const {
    if (done_ >= step)
        throw_usage(
            kInPlacement,
            "a term has `{}` after `{}`; write >>, &, -, / in this order, each once, with parentheses "
            "around what comes first",
            kOperators[step], kOperators[done_]);
}

Term Term::operator>>(unsigned bits) const {
    need_before(kShift);
    Term made = *this;
    made.shift_ = bits;
    made.done_ = kShift;
    return made;
}

Term Term::operator&(std::uint64_t mask) const {
    need_before(kMask);
    Term made = *this;
    made.mask_ = mask;
    made.done_ = kMask;
    return made;
}

Term Term::operator-(std::uint64_t first) const {
    need_before(kSubtract);
    Term made = *this;
    made.first_ = first;
    made.done_ = kSubtract;
    return made;
}

Term Term::operator/(std::uint64_t step) const {
    need_before(kDivide);
    Term made = *this;
    made.step_ = step;
    made.done_ = kDivide;
    return made;
}

Term Term::in(std::vector<std::uint64_t> list) const {
    need_before(kList);
    if (list.empty())
        throw_usage(kInPlacement, "a term has an empty list; give the values that it may have");
    Term made = *this;
    made.list_ = std::move(list);
    made.done_ = kList;
    return made;
}

Term Term::without_remainder() const {
    Term made = *this;
    made.floor_ = true;
    return made;
}

chunk::Term door::PlacementAccess::term(const Term& term) {
    using To = chunk::Term::Kind;
    chunk::Term made;
    switch (term.kind_) {
        case Term::Kind::item:
            made.kind = To::item;
            made.id = term.number_;
            break;
        case Term::Kind::heap:
            made.kind = To::heap;
            break;
        case Term::Kind::endpoint:
            made.kind = To::endpoint;
            break;
        case Term::Kind::constant:
            if (term.done_ != 0)
                throw_usage(kInPlacement, "the constant {} has a `{}`; compute the number before",
                            term.number_, kOperators[term.done_]);
            made.kind = To::constant;
            made.first = term.number_;
            return made;
    }
    made.shift = term.shift_;
    made.mask = term.mask_;
    made.first = term.first_;
    made.step = term.step_;
    made.truncate = term.floor_;
    made.list = term.list_;
    return made;
}

const chunk::Placement& door::PlacementAccess::placement(const Placement& placement) {
    if (!placement.state_)
        throw_usage(kInPlacement, "it was moved to another variable; use that one");
    return placement.state_->placement;
}

Placement::Placement(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Placement::Placement(std::uint64_t heap_bytes) : state_(std::make_unique<State>()) {
    state_->placement.heap_bytes = heap_bytes;
}
Placement::Placement(const Placement& other)
    : state_(other.state_ ? std::make_unique<State>(*other.state_) : nullptr) {}
Placement::Placement(Placement&&) noexcept = default;
Placement& Placement::operator=(const Placement& other) {
    if (this != &other)
        state_ = other.state_ ? std::make_unique<State>(*other.state_) : nullptr;
    return *this;
}
Placement& Placement::operator=(Placement&&) noexcept = default;
Placement::~Placement() = default;

Placement Placement::parse(std::string_view text) {
    return Placement(std::make_unique<State>(State{chunk::Placement::parse(text, kInPlacement)}));
}

Placement::State& Placement::state() {
    door::PlacementAccess::placement(*this);
    return *state_;
}

Placement& Placement::time(const Term& term, std::uint32_t count, std::uint64_t stride) {
    state().placement.axes.push_back({"time", door::PlacementAccess::term(term), count, stride, true});
    return *this;
}

Placement& Placement::axis(const std::string& name, const Term& term, std::uint32_t count,
                           std::uint64_t stride) {
    state().placement.axes.push_back({name, door::PlacementAccess::term(term), count, stride, false});
    return *this;
}

Placement& Placement::add_extra(unsigned bytes, const Term& term) {
    state().placement.extras.push_back({bytes, door::PlacementAccess::term(term)});
    return *this;
}

Placement& Placement::rows(std::uint64_t row_bytes, std::uint64_t stride) {
    state().placement.rows = {row_bytes, stride};
    return *this;
}

Placement& Placement::packet_presence(std::uint32_t packet_bytes) {
    state().placement.packet_bytes = packet_bytes;
    return *this;
}

Placement& Placement::direct() {
    state().placement.way = chunk::Way::direct;
    return *this;
}

Placement& Placement::tracked() {
    state().placement.way = chunk::Way::tracked;
    return *this;
}

Placement& Placement::wrap(unsigned bits) {
    state().placement.wrap_bits = bits;
    return *this;
}

std::uint64_t Placement::heaps() const {
    return door::PlacementAccess::placement(*this).check(kInPlacement).heaps;
}

std::uint64_t Placement::bytes() const {
    return door::PlacementAccess::placement(*this).check(kInPlacement).bytes;
}

std::uint64_t Placement::present_bytes() const {
    return door::PlacementAccess::placement(*this).check(kInPlacement).present_bytes();
}

std::uint64_t Placement::extra_bytes() const {
    const chunk::Layout layout = door::PlacementAccess::placement(*this).check(kInPlacement);
    return layout.heaps * layout.extra_bytes;
}

std::string Placement::text() const {
    const chunk::Placement& placement = door::PlacementAccess::placement(*this);
    placement.check(kInPlacement);
    return placement.text();
}

std::string Placement::explain() const {
    const chunk::Placement& placement = door::PlacementAccess::placement(*this);
    placement.check(kInPlacement);
    return placement.explain();
}

}  // namespace spead
