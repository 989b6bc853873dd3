// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "runtime/engine_state.hpp"

/// The groups that streams receive.
namespace spead::runtime {

/// Returns what is received, and where.
PortSet::Groups Engine::State::groups_of(const Plan& wanted) const {
    PortSet::Groups all(ports.size());
    for (const ReceivePlan& r : wanted.receives)
        if (r.enabled) {
            std::vector<Endpoint>& here = all[ports.index_of(r.port)];
            here.insert(here.end(), r.endpoints.begin(), r.endpoints.end());
        }
    for (std::vector<Endpoint>& here : all)
        std::sort(here.begin(), here.end());
    return all;
}

}  // namespace spead::runtime
