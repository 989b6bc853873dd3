// SPDX-License-Identifier: BSD-3-Clause
#include "spead/eal_start.hpp"

#include <utility>

#include "drivers/table.hpp"

namespace spead::door {

void EalStart::take_turn() {
    if (!turn_ && !started_)
        turn_ = std::make_unique<memory::HugePageTurn>();
}

runtime::Layout EalStart::lay_out(const runtime::Plan& plan) {
    take_turn();
    runtime::Layout layout = runtime::lay_out(plan, options_, drivers::table());
    if (layout.eal_bytes > most_bytes_) {
        most_bytes_ = layout.eal_bytes;
        arguments_ = {layout.eal_args, layout.remarks};
    }
    return layout;
}

const runtime::EalArguments& EalStart::prepare(const runtime::EalNeeds& needs) {
    take_turn();
    arguments_ = runtime::eal_arguments(options_, needs);
    return arguments_;
}

void EalStart::start() {
    if (started_)
        return;
    // Others may count again, however this ends.
    const std::unique_ptr<memory::HugePageTurn> turn = std::move(turn_);
    if (owner_ == Owner::library && runtime::Eal::runs())
        options_.has_lcores = true;
    else
        // EAL goes on when this object is gone: it is not cleaned up before the process ends.
        const runtime::Eal eal(arguments_.words, owner_);
    started_ = true;
}

}  // namespace spead::door
