// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// An installed copy has the text of base/exceptions.hpp here.
#include "base/exceptions.hpp"
