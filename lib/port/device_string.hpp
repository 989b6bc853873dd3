// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Parses the device strings that DPDK users type: "net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap".
namespace spead::port {

/// Holds a parsed device string. Control code only. `where` in the errors is the caller's ("port p0").
class DeviceString {
  public:
    struct Parameter {
        std::string key;
        std::string value;
    };

    /// Parses the text. Throws UsageError for an empty or too long name, a parameter without '=' or without
    /// value (PMDs crash on those). Drops a leading "vdev:". A ',' always separates, as in EAL: a file name
    /// cannot hold one.
    static DeviceString parse(std::string_view text, const std::string& where);

    const std::string& name() const noexcept { return name_; }
    void set_name(std::string name) { name_ = std::move(name); }
    const std::vector<Parameter>& parameters() const noexcept { return parameters_; }

    bool has(std::string_view key) const;
    /// Returns the first value of the key; empty if the user did not give it.
    std::optional<std::string> find(std::string_view key) const;
    std::vector<std::string> all(std::string_view key) const;
    /// Returns the key's value as an unsigned number in [least, most]. Throws UsageError that quotes it.
    std::optional<std::uint64_t> number(std::string_view key, std::uint64_t least, std::uint64_t most) const;
    void add(std::string_view key, std::string value);
    /// Replaces every value of the key by this one.
    void set(std::string_view key, std::string value);

    /// Throws UsageError unless every key is in `known`, and given once unless it is in `repeatable` too.
    void check_keys(std::initializer_list<std::string_view> known,
                    std::initializer_list<std::string_view> repeatable = {}) const;

    /// Returns the form that EAL reads.
    std::string text() const;

  private:
    std::string name_;
    std::vector<Parameter> parameters_;
    std::string where_;
};

/// Limits a device name as EAL does (RTE_DEV_NAME_MAX_LEN without the terminator).
inline constexpr std::size_t kMaxDeviceName = 63;

}  // namespace spead::port
