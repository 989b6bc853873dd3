// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>

#include "memory/huge_turn.hpp"
#include "runtime/eal.hpp"
#include "runtime/layout.hpp"

namespace spead::door {

/// Starts EAL, with arguments that it works out. Nothing else in the program or the library starts EAL.
///
/// From the first lay_out() or prepare() until EAL has started, no other process counts or takes huge pages
/// (memory::HugePageTurn). Control code; one thread at a time. Not installed.
class EalStart {
  public:
    using Owner = runtime::Eal::Owner;

    /// Takes the user's options.
    explicit EalStart(runtime::EalOptions options, Owner owner = Owner::program)
        : options_(std::move(options)), owner_(owner) {}

    const runtime::EalOptions& options() const noexcept { return options_; }

    /// Lays a plan out, on a thread that may use all CPUs of the process. One EAL serves several plans, one
    /// after the other: it is started as the plan that needs most of its memory asks. Throws Error when the
    /// plan does not fit this machine.
    runtime::Layout lay_out(const runtime::Plan& plan);
    /// Works out the arguments for ports without a plan, and returns them. Throws Error.
    const runtime::EalArguments& prepare(const runtime::EalNeeds& needs);

    /// Starts EAL, once: the calling thread becomes the main lcore. A library's EAL may run already; plans
    /// then have the lcores of the first start. Throws Error, and may be called again.
    void start();

  private:
    void take_turn();

    runtime::EalOptions options_;
    const Owner owner_;
    std::unique_ptr<memory::HugePageTurn> turn_;
    runtime::EalArguments arguments_;
    std::size_t most_bytes_ = 0;  ///< of EAL's memory, that a plan needs
    bool started_ = false;
};

}  // namespace spead::door
