// SPDX-License-Identifier: BSD-3-Clause
#include "process/process_places.hpp"

#include <algorithm>
#include <cstring>
#include <dirent.h>
#include <memory>
#include <set>
#include <sys/stat.h>
#include <utility>

#include <fmt/core.h>

namespace spead::process {

namespace {

/// Limits the directories of root that are searched: a machine has hundreds of services at most.
constexpr std::size_t kMostServices = 4096;

/// Examines a path. A path that only root can have made may be a link: systemd makes some.
bool look_at(const std::string& path, bool roots, struct stat& facts) {
    return (roots ? stat(path.c_str(), &facts) : lstat(path.c_str(), &facts)) == 0 && S_ISDIR(facts.st_mode);
}

bool others_write(const struct stat& facts) {
    return (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

class Search {
  public:
    Search(std::string_view kind, const PlaceSearch& search) : kind_(kind), search_(search) {}

    std::vector<Place> places() && {
        const std::string run = search_.root + "/run";
        const std::string services = run + "/dpdk-spead";
        named("RUNTIME_DIRECTORY");
        if (search_.user == 0)
            below(run, true);
        named("XDG_RUNTIME_DIR");
        all_in(services);
        all_in(run);
        below(run, true);
        all_in(run + "/user");
        below(search_.root + "/tmp", false);
        return std::move(found_);
    }

  private:
    void named(const char* variable) {
        const char* const value = search_.environment ? search_.environment(variable) : nullptr;
        const std::string_view directories = value != nullptr ? value : "";
        // systemd.exec(5): several directories have colons between them.
        if (directories.starts_with('/'))
            below(std::string(directories.substr(0, directories.find(':'))), true);
    }

    /// Searches each entry of a directory in which only root makes entries.
    void all_in(const std::string& parent) {
        struct stat facts {};
        if (!look_at(parent, true, facts))
            return;
        const bool roots = search_.root.empty() ? facts.st_uid == 0 : true;
        for (const std::string& entry : entries_of(parent, kMostServices))
            below(fmt::format("{}/{}", parent, entry), roots && !others_write(facts));
    }

    /// Adds parent/kind. `made_by_root`: no other user has made `parent`.
    void below(const std::string& parent, bool made_by_root) {
        struct stat above {};
        struct stat facts {};
        const std::string directory = fmt::format("{}/{}", parent, kind_);
        if (!look_at(parent, made_by_root, above) || !look_at(directory, false, facts) ||
            !seen_.insert({facts.st_dev, facts.st_ino}).second)
            return;
        const bool own = facts.st_uid == 0 || facts.st_uid == search_.user;
        // Root has given a service's directory to its user; a user's session directory is not to be trusted.
        const bool services = made_by_root && facts.st_uid == above.st_uid && !others_write(above) &&
                              parent.find("/run/user/") == std::string::npos;
        found_.push_back({directory, facts.st_uid, (own || services) && !others_write(facts)});
    }

    std::string_view kind_;
    const PlaceSearch& search_;
    std::vector<Place> found_;
    std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

std::vector<Place> process_places(std::string_view kind, const PlaceSearch& search) {
    return Search(kind, search).places();
}

std::vector<std::string> entries_of(const std::string& directory, std::size_t most) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(directory.c_str()), closedir);
    for (const dirent* entry = nullptr;
         open && names.size() < most && (entry = readdir(open.get())) != nullptr;)
        if (entry->d_name[0] != '.')
            names.emplace_back(entry->d_name);
    std::sort(names.begin(), names.end());
    return names;
}

bool is_socket_file(const std::string& path) {
    struct stat facts {};
    return lstat(path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode);
}

bool is_directory_itself(const std::string& path) {
    struct stat facts {};
    return look_at(path, false, facts);
}

}  // namespace spead::process
