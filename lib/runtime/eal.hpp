// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace spead::runtime {

/// EAL's life: once per process. Constructed and destroyed on the main thread.
class Eal {
  public:
    /// `arguments` without the program's name. Throws Error with what EAL logged when it refuses, or when EAL
    /// has been initialised before in this process.
    explicit Eal(const std::vector<std::string>& arguments);
    ~Eal();
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

    /// Ids of the worker lcores, ascending.
    static std::vector<unsigned> worker_lcores();
};

}  // namespace spead::runtime
