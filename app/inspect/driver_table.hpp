// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "port/driver.hpp"

/// Lists the best capabilities of each family of drivers, as its file in drivers/ declares them. Pure.
namespace spead::app {

/// Returns a Markdown table with a row per family, in aligned columns; docs/drivers.md holds it.
std::string driver_table(std::span<const port::Driver* const> drivers);

/// Returns the same as an array of objects.
nlohmann::ordered_json driver_document(std::span<const port::Driver* const> drivers);

/// Returns a family's or a port's capabilities as an object.
nlohmann::ordered_json capability_document(const port::Capabilities& capabilities);

}  // namespace spead::app
