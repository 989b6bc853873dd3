// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <spead/recv.hpp>
#include <string>
#include <vector>

/// Reads settings that several kinds of streams have. With the GIL.
namespace spead::python {

inline std::chrono::nanoseconds time_of(const pybind11::handle& seconds) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds.cast<double>()));
}

/// Reads a SecondPath of Python's; None: there is one path.
inline std::optional<RecvConfig::SecondPath> second_path_of(const pybind11::object& second) {
    if (second.is_none())
        return std::nullopt;
    RecvConfig::SecondPath path;
    path.interface = second.attr("interface").cast<std::string>();
    const pybind11::object endpoints = second.attr("endpoints");
    if (pybind11::isinstance<pybind11::str>(endpoints))
        path.endpoints = {endpoints.cast<std::string>()};
    else
        path.endpoints = endpoints.cast<std::vector<std::string>>();
    path.skew = time_of(second.attr("skew"));
    return path;
}

}  // namespace spead::python
