// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "observe/api_access.hpp"
#include "observe/api_answers.hpp"
#include "observe/capture_report.hpp"
#include "observe/event_log.hpp"
#include "observe/key_words.hpp"
#include "observe/metrics.hpp"
#include "observe/progress.hpp"
#include "observe/readiness.hpp"
#include "observe/report.hpp"
#include "observe/report_file.hpp"
#include "observe/table.hpp"
#include "observe/telemetry.hpp"

/// Shows a run to people and to other programs: reports as tables and JSON, the progress line, telemetry,
/// metrics and the reading part of the API over HTTP, readiness. Everything here reads snapshots
/// (stats/latest_snapshot.hpp), and works on any thread but an lcore's.
///
/// Nothing here reaches an lcore, a port or an engine, or changes a run. Nothing here knows the program's
/// commands, its prompt or the screen of `top`: these are in app/. It stands above runtime because its
/// threads run on CPUs that lcores do not use (runtime/consumers.hpp). The installed library does not have
/// it.
namespace spead::observe {}
