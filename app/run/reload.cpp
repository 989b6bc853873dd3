// SPDX-License-Identifier: BSD-3-Clause
#include "app/run/reload.hpp"

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "config/config.hpp"

namespace spead::app {

void reload(const RunOptions& options, runtime::Engine& engine) {
    const std::string& path = options.config_path;
    try {
        runtime::Plan wanted = config::load_file(path);
        std::vector<std::string> remarks;
        if (options.shard)
            wanted = plan_of_choice(wanted, *options.shard, path, remarks);
        wanted.runtime.live = engine.plan().runtime.live;
        options.given.apply_to(wanted.runtime);
        const std::string level = wanted.runtime.log_level;
        if (wanted == engine.plan()) {
            log_notice(LogType::app, "SIGHUP: {} has no changes", path);
            return;
        }
        engine.reconfigure(wanted);
        if (!level.empty())
            set_log_level(level);
        log_notice(LogType::app, "SIGHUP: {} was read again and carried out: {}, {}", path,
                   counted(wanted.receives.size(), "streams"), counted(wanted.sends.size(), "senders"));
        for (const std::string& remark : remarks)
            log_notice(LogType::app, "SIGHUP: {}", remark);
    } catch (const std::exception& e) {
        log_error(LogType::app, "SIGHUP: nothing was changed: {}", e.what());
    }
}

}  // namespace spead::app
