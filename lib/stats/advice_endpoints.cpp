// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shell_word.hpp"
#include "stats/advice.hpp"

/// Writes the actions that let a stream receive one more endpoint.
namespace spead::stats {

std::string Advice::add_endpoint(const StreamSnapshot& s, const PortSnapshot& p,
                                 const std::string& endpoint) const {
    if (s.path_endpoints.size() > 1 && s.path_endpoints.front() != s.path_endpoints.back())
        return add_with_twin(s, p, endpoint);
    const std::string& file = of_.settings.configuration;
    // A shell would look for files by the brackets of IPv6.
    if (std::string live = prompt(fmt::format("endpoint add {} {}", s.name, word(endpoint))); !live.empty())
        return file.empty()
                   ? live
                   : fmt::format("{} (to keep it, add `\"{}\"` to `endpoints` in [[receive]] of {} in {})",
                                 live, endpoint, s.name, shell_word(file));
    if (!file.empty())
        return fmt::format("add `\"{}\"` to `endpoints` in [[receive]] of {} in {}, and restart", endpoint,
                           s.name, shell_word(file));
    return of_.settings.by_options ? fmt::format("restart with one more endpoint, `{}`", shell_word(endpoint))
                                   : fmt::format("add `{}` to its endpoints (`add_endpoint`)", endpoint);
}

/// Returns the action for a stream each of whose paths has endpoints of its own: the endpoint needs a twin,
/// which the user knows.
std::string Advice::add_with_twin(const StreamSnapshot& s, const PortSnapshot& p,
                                  const std::string& endpoint) const {
    const bool by_either = s.path_ports.front() == s.path_ports.back();
    const bool by_second = !by_either && s.path_ports.back() == p.name;
    const auto list = [&s](std::size_t path, std::string_view more) {
        return fmt::format("{},{}", fmt::join(s.path_endpoints[path], ","), more);
    };
    const std::string first = list(0, by_second ? "TWIN" : endpoint);
    const std::string second = list(1, by_second ? endpoint : "TWIN");
    const std::string& file = of_.settings.configuration;
    const std::string live = prompt(
        fmt::format("stream set {} endpoints {} path_endpoints {}", s.name, word(first), word(second)));
    if (live.empty() && is_by_program())
        return fmt::format("add `{}` with its twin on the other path (`add_endpoint`)", endpoint);
    if (live.empty())
        return fmt::format(
            "add `\"{}\"` to the list of its path, and its twin to the other one (`endpoints` and "
            "`path_endpoints` in [[receive]] of {}{}), and restart",
            endpoint, s.name, file.empty() ? std::string() : " in " + shell_word(file));
    return fmt::format("{}, with its twin of the other path in place of TWIN{}{}", live,
                       by_either ? "; exchange the two if it comes by the second path" : "",
                       file.empty()
                           ? std::string()
                           : fmt::format(" (to keep it, add both to `endpoints` and `path_endpoints` "
                                         "in [[receive]] of {} in {})",
                                         s.name, shell_word(file)));
}

}  // namespace spead::stats
