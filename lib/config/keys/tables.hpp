// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include "config/key.hpp"

/// Declares the tables of keys, one file each. Internal to lib/config; others use config/keys.hpp.
namespace spead::config::keys {

std::span<const Key> runtime();
std::span<const Key> memory();
std::span<const Key> port();
std::span<const Key> receive();
std::span<const Key> receive_heaps();
std::span<const Key> receive_chunk();
std::span<const Key> receive_sink();
std::span<const Key> receive_capture();
std::span<const Key> send();
std::span<const Key> end();

}  // namespace spead::config::keys
