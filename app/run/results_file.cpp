// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/results_file.hpp"

#include "base/error.hpp"
#include "observe/report.hpp"
#include "observe/report_file.hpp"

namespace spead::app {

void write_results(const std::string& path, const stats::Snapshot& last, std::vector<std::string>& problems) {
    if (path.empty())
        return;
    try {
        observe::write_file(path, observe::report_json(last));
    } catch (const Error& e) {
        problems.emplace_back(e.what());
    }
}

}  // namespace spead::app
