// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spead::runtime {

/// EAL's life: once per process. Constructed and destroyed on the main thread.
class Eal {
  public:
    /// Whose process it is: the program may redirect standard output and error while EAL starts, to find the
    /// words of a refusal there; a library leaves them alone.
    enum class Owner : std::uint8_t { program, library };

    /// `arguments` without the program's name. Throws Error with what EAL logged when it refuses, UsageError
    /// when it does not know an option, and Error when EAL runs in this process already; after a refusal it
    /// can be tried again. Removes what dead processes of the same name (--file-prefix NAME.PID) have left in
    /// EAL's directory.
    explicit Eal(const std::vector<std::string>& arguments, Owner owner = Owner::program);
    ~Eal();
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

    /// Whether EAL runs in this process. Any thread.
    static bool runs() noexcept;

    /// Removes EAL's directory of this process, if it is its own (no --file-prefix of the user's), with EAL's
    /// files in it. For a process that ends now; any thread.
    static void remove_directory() noexcept;

    /// Names the pages that EAL's memory is of: "huge pages of 2 MiB", "4 KiB pages".
    static std::string pages();

    /// The CPUs of EAL's lcores: of several that an lcore may use, the first.
    struct Cpus {
        unsigned main = 0;
        std::vector<unsigned> workers;
    };
    /// EAL runs. Any thread.
    static Cpus cpus();

    /// Ids of the worker lcores, ascending.
    static std::vector<unsigned> worker_lcores();
};

}  // namespace spead::runtime
