// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spead::runtime {

/// Starts EAL, once per process. Constructed on the main thread. Does not end EAL: rte_eal_cleanup frees
/// memory that EAL's interrupt thread still looks at (net_memif 22.11 forgets the handle of its listening
/// socket).
class Eal {
  public:
    /// Names the owner of the process. A program may redirect standard output and error while EAL starts, to
    /// quote EAL's refusal. A library leaves them alone.
    enum class Owner : std::uint8_t { program, library };

    /// Starts EAL with `arguments`, which lack the program's name. Throws UsageError when EAL does not know
    /// an option, Error with EAL's log when it refuses, and Error when EAL already runs in this process.
    /// After a refusal it can be tried again. Removes the files that dead processes of the same name
    /// (--file-prefix NAME.PID) have left in EAL's directory.
    explicit Eal(const std::vector<std::string>& arguments, Owner owner = Owner::program);
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

    /// Returns whether EAL runs in this process. Any thread.
    static bool runs() noexcept;

    /// Removes EAL's directory of this process with EAL's files in it, unless the user gave a --file-prefix.
    /// For a process that ends now. Any thread.
    static void remove_directory() noexcept;

    /// Names the page size of EAL's memory: "huge pages of 2 MiB", "4 KiB pages".
    static std::string pages();

    /// Holds the CPUs of EAL's lcores. If an lcore may use several, it is the first.
    struct Cpus {
        unsigned main = 0;
        std::vector<unsigned> workers;
    };
    /// Returns the CPUs of the EAL that runs. Any thread.
    static Cpus cpus();

    /// Ids of the worker lcores, ascending.
    static std::vector<unsigned> worker_lcores();
};

}  // namespace spead::runtime
