// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/shell_word.hpp"
#include "base/units.hpp"
#include "stats/advice.hpp"

/// Writes the actions that let a port's receive queue hold more.
namespace spead::stats {

namespace {

constexpr StreamKey kBufferSize{"buffer_size", "--buffer-size", kMostBuffer, &StreamSettings::buffer_size,
                                true};
/// Holds the largest buffer of a kernel socket: the kernel doubles the number, which is an int.
constexpr std::uint64_t kMostSocketBuffer = (std::uint64_t{1} << 30) - 1;

}  // namespace

/// Adds the actions that make the buffers of kernel sockets larger.
std::string Advice::more_in_socket(const PortSnapshot& p, const StreamSnapshot& s, Cures& to) const {
    const PortSettings& port = p.settings;
    const std::uint64_t limit = of_.settings.socket_limit;
    const auto let_kernel = [&](std::uint64_t bytes) {
        if (limit < bytes)
            to.push_back(fmt::format("run `sysctl -w net.core.rmem_max={}` as root (now {})", bytes, limit));
    };
    if (port.socket_buffer < port.buffer_size) {
        // The sockets are made anew when the stream starts.
        const std::uint64_t wanted = std::min(port.buffer_size, kMostSocketBuffer);
        let_kernel(wanted);
        return fmt::format("{}: its sockets then have {} bytes each, and not {}", begin_anew(s), wanted,
                           port.socket_buffer);
    }
    const std::uint64_t wanted = std::min(2 * port.buffer_size, kMostSocketBuffer);
    if (wanted <= port.buffer_size)
        return {};
    let_kernel(wanted);
    return enlarge_buffer(p, s, wanted);
}

/// Returns the action that gives a port a larger `buffer_size`. The port may have more than its streams ask
/// for: then a value of theirs below that has no effect.
std::string Advice::enlarge_buffer(const PortSnapshot& p, const StreamSnapshot& s,
                                   std::uint64_t wanted) const {
    const std::uint64_t now = p.settings.buffer_size;
    return set_at_start(
        s, kBufferSize, size_text(wanted),
        size_text(now) + (s.settings.buffer_size < now ? ", the least that a port has here" : ""));
}

/// Returns the action that gives a port another device string.
std::string Advice::set_device(const PortSnapshot& p, const std::string& device) const {
    if (is_by_program())
        return fmt::format("set `interface` to \"{}\"", device);
    const bool by_option = of_.settings.configuration.empty() && of_.settings.by_options;
    return for_next_start("[[port]]", p.name, "device", "--port",
                          by_option ? shell_word(device) : fmt::format("\"{}\"", device), "");
}

Cures Advice::raise_buffer(const PortSnapshot& p) const {
    const StreamSnapshot* largest = nullptr;
    for (const StreamSnapshot& s : of_.streams)
        if (s.comes_by(p.name) &&
            (largest == nullptr || s.settings.buffer_size > largest->settings.buffer_size))
            largest = &s;
    if (largest == nullptr || p.settings.buffer_size == 0)
        return "raise " + named(kBufferSize);
    Cures cures;
    std::string last;
    if (p.settings.socket_buffer != 0)
        last = more_in_socket(p, *largest, cures);
    else if (p.settings.larger_buffer != 0)
        last = enlarge_buffer(p, *largest, p.settings.larger_buffer);
    else if (!p.settings.longer_device.empty())
        last = set_device(p, p.settings.longer_device);
    if (!last.empty() && p.settings.socket_buffer == 0)
        last += fmt::format(": the queue then holds {} packets instead of {}", p.settings.larger_queue,
                            p.rx_descriptors);
    if (!last.empty())
        cures.push_back(std::move(last));
    return cures;
}

}  // namespace spead::stats
