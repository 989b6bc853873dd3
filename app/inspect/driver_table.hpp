// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "port/driver.hpp"

/// What each family of drivers can do at best, from what its file in drivers/ declares. Pure.
namespace spead::app {

/// A Markdown table with a row per family, in aligned columns; docs/drivers.md holds it.
std::string driver_table(std::span<const port::Driver* const> drivers);

/// The same as an array of objects.
nlohmann::ordered_json driver_document(std::span<const port::Driver* const> drivers);

/// A family's or a port's capabilities as an object.
nlohmann::ordered_json capability_document(const port::Capabilities& capabilities);

}  // namespace spead::app
