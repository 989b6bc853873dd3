// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <type_traits>

#include "base/endpoint.hpp"
#include "base/listen_address.hpp"
#include "base/mac.hpp"
#include "config/key.hpp"
#include "config/names.hpp"

/// Makes Fields from pointers to members of a plan, for the tables in lib/config/keys/. A path of several
/// members leads into a member that is a struct: size<&ReceivePlan::capture, &capture::Options::buffer>.
namespace spead::config {

namespace field_detail {

template <typename Class, typename T>
Class owner(T Class::*);

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// Follows the path. An optional struct on the path must exist: a table is read after it was made.
template <auto First, auto... Rest, typename Owner>
auto& follow(Owner& owner) {
    auto& member = owner.*First;
    if constexpr (sizeof...(Rest) == 0)
        return member;
    else if constexpr (IsOptional<std::remove_cvref_t<decltype(member)>>::value)
        return follow<Rest...>(*member);
    else
        return follow<Rest...>(member);
}

template <typename T>
Value to_value(const T& member) {
    if constexpr (IsOptional<T>::value)
        return member ? to_value(*member) : Value{};
    else if constexpr (std::is_enum_v<T>)
        return std::string(name_in(kWords<T>, member));
    else if constexpr (std::is_same_v<T, Ipv4>)
        return member.value == 0 ? Value{} : Value{to_string(member)};
    else if constexpr (std::is_same_v<T, Ipv6>)
        return IpAddress(member).is_unspecified() ? Value{} : Value{to_string(IpAddress(member))};
    else if constexpr (std::is_same_v<T, ListenAddress>)
        return to_string(member);
    else if constexpr (std::is_same_v<T, MacAddress>)
        return mac_text(member);
    else if constexpr (std::is_same_v<T, bool> || !std::is_integral_v<T>)
        return member;
    else if constexpr (std::is_signed_v<T>)
        return std::int64_t{member};
    else
        return std::uint64_t{member};
}

template <typename T>
void from_value(const Value& value, T& member, const Where& where) {
    if constexpr (IsOptional<T>::value) {
        if (std::holds_alternative<std::monostate>(value))
            member.reset();
        else
            from_value(value, member.emplace(), where);
    } else if constexpr (std::is_enum_v<T>) {
        member = choose(kWords<T>, std::get<std::string>(value), where(""));
    } else if constexpr (std::is_same_v<T, Ipv4>) {
        const auto* text = std::get_if<std::string>(&value);
        member = text == nullptr ? Ipv4{} : parse_ipv4(*text, where(""));
    } else if constexpr (std::is_same_v<T, Ipv6>) {
        const auto* text = std::get_if<std::string>(&value);
        member = text == nullptr ? Ipv6{} : parse_ipv6(*text, where(""));
    } else if constexpr (std::is_same_v<T, ListenAddress>) {
        member = parse_listen_address(std::get<std::string>(value), where(""));
    } else if constexpr (std::is_same_v<T, MacAddress>) {
        member = parse_mac(std::get<std::string>(value), where(""));
    } else if constexpr (std::is_same_v<T, bool> || !std::is_integral_v<T>) {
        member = std::get<T>(value);
    } else if constexpr (std::is_signed_v<T>) {
        member = static_cast<T>(std::get<std::int64_t>(value));
    } else {
        member = static_cast<T>(std::get<std::uint64_t>(value));
    }
}

template <auto First, auto...>
struct OwnerOf {
    using type = decltype(owner(First));
};
template <auto... Path>
using Owner = typename OwnerOf<Path...>::type;

/// Returns whether the first member of the path is an optional struct without a value.
template <auto First, auto... Rest, typename Owner>
bool absent(const Owner& owner) {
    if constexpr (sizeof...(Rest) > 0 && IsOptional<std::remove_cvref_t<decltype(owner.*First)>>::value)
        return !(owner.*First).has_value();
    return false;
}

template <auto... Path>
Value get(ConstPart part) {
    if (absent<Path...>(*std::get<const Owner<Path...>*>(part)))
        return {};
    return to_value(follow<Path...>(*std::get<const Owner<Path...>*>(part)));
}

template <auto... Path>
void set(Part part, const Value& value, const Where& where) {
    from_value(value, follow<Path...>(*std::get<Owner<Path...>*>(part)), where);
}

template <KeyType Type, auto... Path>
inline constexpr Field kField{Type, {}, &get<Path...>, &set<Path...>};

template <typename E>
inline constexpr auto kNames = [] {
    std::array<std::string_view, kWords<E>.size()> names;
    for (std::size_t i = 0; i < names.size(); i++)
        names[i] = kWords<E>[i].name;
    return names;
}();

template <auto... Path>
using Member = std::remove_reference_t<decltype(follow<Path...>(std::declval<Owner<Path...>&>()))>;

template <auto Texts>
Value get_endpoints(ConstPart part) {
    return std::get<const Owner<Texts>*>(part)->*Texts;
}

/// Sets the texts, and the endpoints that they expand to. An error names the place of the wrong text.
template <auto Texts, auto Endpoints>
void set_endpoints(Part part, const Value& value, const Where& where) {
    std::vector<std::string>& texts = std::get<Owner<Texts>*>(part)->*Texts;
    std::vector<Endpoint>& endpoints = std::get<Owner<Texts>*>(part)->*Endpoints;
    texts = std::get<std::vector<std::string>>(value);
    endpoints.clear();
    for (std::size_t i = 0; i < texts.size(); i++) {
        try {
            for (const Endpoint& endpoint : parse_endpoints(texts[i]))
                endpoints.push_back(endpoint);
        } catch (const UsageError& error) {
            throw UsageError(where(fmt::format("[{}]", i)), error.what());
        }
    }
}

}  // namespace field_detail

template <auto... Path>
inline constexpr Field flag = field_detail::kField<KeyType::flag, Path...>;
template <auto... Path>
inline constexpr Field integer = field_detail::kField<KeyType::integer, Path...>;
template <auto... Path>
inline constexpr Field real = field_detail::kField<KeyType::real, Path...>;
template <auto... Path>
inline constexpr Field size = field_detail::kField<KeyType::size, Path...>;
template <auto... Path>
inline constexpr Field rate = field_detail::kField<KeyType::rate, Path...>;
template <auto... Path>
inline constexpr Field seconds = field_detail::kField<KeyType::time, Path...>;
template <auto... Path>
inline constexpr Field text = field_detail::kField<KeyType::text, Path...>;
template <auto... Path>
inline constexpr Field cpu = field_detail::kField<KeyType::cpu, Path...>;
template <auto... Path>
inline constexpr Field cpus = field_detail::kField<KeyType::cpus, Path...>;
template <auto... Path>
inline constexpr Field texts = field_detail::kField<KeyType::texts, Path...>;
template <auto... Path>
inline constexpr Field choice{KeyType::choice, field_detail::kNames<field_detail::Member<Path...>>,
                              &field_detail::get<Path...>, &field_detail::set<Path...>};
/// Holds the field of a list of endpoints: the member with the texts, and that with what they expand to.
template <auto Texts, auto Endpoints>
inline constexpr Field endpoint_list{KeyType::endpoints,
                                     {},
                                     &field_detail::get_endpoints<Texts>,
                                     &field_detail::set_endpoints<Texts, Endpoints>};

}  // namespace spead::config
