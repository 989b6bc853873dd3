// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan.hpp"

/// Tells the paths of a stream: one, or two that bring copies of the same packets (docs/paths.md). Control
/// code.
namespace spead::runtime {

/// Holds the defaults of a stream with two paths: heaps that may be open, and finished ones that are
/// remembered. One path may be behind by so many heaps.
inline constexpr std::uint32_t kPathLive = 64;
inline constexpr std::uint32_t kPathHistory = 16384;

inline std::size_t path_count(const ReceivePlan& r) noexcept {
    return r.paths.empty() ? 1 : r.paths.size();
}
inline bool has_two_paths(const ReceivePlan& r) noexcept {
    return path_count(r) > 1;
}

/// Returns the name of the path's port.
inline const std::string& port_of(const ReceivePlan& r, std::size_t path) noexcept {
    return path == 0 ? r.port : r.paths[path];
}

/// Returns the path's endpoints: the i-th one brings what the i-th one of every other path brings.
inline const std::vector<Endpoint>& endpoints_of(const ReceivePlan& r, std::size_t path) noexcept {
    return path == 0 || r.path_endpoints.empty() ? r.endpoints : r.path_endpoints;
}

/// Returns the path's endpoints as they were given.
inline const std::vector<std::string>& endpoint_texts_of(const ReceivePlan& r, std::size_t path) noexcept {
    return path == 0 || r.path_endpoints.empty() ? r.endpoint_texts : r.path_endpoint_texts;
}

/// Returns the names of its ports as reports have them: "p0", or "p0+p1".
inline std::string ports_text(const ReceivePlan& r) {
    std::string text = r.port;
    for (std::size_t path = 1; path < path_count(r); path++)
        text += "+" + r.paths[path];
    return text;
}

/// Returns whether a path of the stream is on the port.
inline bool receives_on(const ReceivePlan& r, std::string_view port) noexcept {
    return r.port == port || std::find(r.paths.begin(), r.paths.end(), port) != r.paths.end();
}

/// Calls `f` with the number of each path, its port and its endpoints.
template <class F>
void for_each_path(const ReceivePlan& r, F&& f) {
    for (std::size_t path = 0; path < path_count(r); path++)
        f(path, port_of(r, path), endpoints_of(r, path));
}

/// Returns whether `is(port)` holds for the ports of all paths.
template <class F>
bool all_paths(const ReceivePlan& r, F&& is) {
    for (std::size_t path = 0; path < path_count(r); path++)
        if (!is(port_of(r, path)))
            return false;
    return true;
}

/// Names an endpoint of one path.
struct PathEndpoint {
    Endpoint endpoint;
    std::uint8_t path = 0;

    bool operator==(const PathEndpoint&) const = default;
};

/// Returns the endpoints of a stream that has one path.
inline std::vector<PathEndpoint> of_one_path(const std::vector<Endpoint>& endpoints) {
    std::vector<PathEndpoint> all;
    for (const Endpoint& e : endpoints)
        all.push_back({e, 0});
    return all;
}

/// Returns the endpoints of all paths, those of the first one first.
inline std::vector<PathEndpoint> all_endpoints(const ReceivePlan& r) {
    std::vector<PathEndpoint> all;
    for_each_path(r, [&all](std::size_t path, const std::string&, const std::vector<Endpoint>& endpoints) {
        for (const Endpoint& e : endpoints)
            all.push_back({e, static_cast<std::uint8_t>(path)});
    });
    return all;
}

}  // namespace spead::runtime
