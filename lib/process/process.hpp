// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "process/kept_privileges.hpp"
#include "process/process_places.hpp"
#include "process/reload_signal.hpp"
#include "process/service_notifier.hpp"
#include "process/standard_streams.hpp"
#include "process/stop_signals.hpp"

/// Manages the state of a whole process: signals, standard streams, privileges, the service manager's
/// notifications, and the names by which processes find each other and keep apart.
///
/// Only the program uses it. The installed library does not have it: an embedding program's signals,
/// descriptors and privileges stay as they were. Nothing here knows the program's commands. It stands above
/// drivers because a signal that ends the process at once first undoes device changes that would outlive it
/// (drivers/outliving.hpp).
namespace spead::process {}
