// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/xdp_program.hpp"

#include <algorithm>
#include <array>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <linux/if_link.h>
#include <linux/membarrier.h>
#include <memory>
#include <net/if.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>
#include <rte_log.h>

#include "base/error.hpp"
#include "drivers/xdp/steer.h"

namespace spead::drivers {

namespace {

constexpr unsigned kMostMaps = 16;
constexpr int kGracePeriod = MEMBARRIER_CMD_GLOBAL;
constexpr auto kWorkItem = std::chrono::milliseconds{20};

/// Owns a descriptor, and closes it.
class Fd {
  public:
    explicit Fd(int fd = -1) noexcept : fd_(fd) {}
    ~Fd() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    Fd& operator=(Fd&&) = delete;

    explicit operator bool() const noexcept { return fd_ >= 0; }
    int get() const noexcept { return fd_; }
    int take() noexcept { return std::exchange(fd_, -1); }

  private:
    int fd_;
};

/// Sends libbpf's messages to EAL's log: the PMD's errors only say that loading failed.
int log_libbpf(libbpf_print_level level, const char* format, va_list words) {
    if (level == LIBBPF_DEBUG) {
        return 0;
    }
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): libbpf's list
    return rte_vlog(level == LIBBPF_WARN ? RTE_LOG_ERR : RTE_LOG_INFO, RTE_LOGTYPE_EAL, format, words);
}

std::uint32_t program_id(unsigned if_index) {
    std::uint32_t id = 0;
    return if_index != 0 && bpf_xdp_query_id(static_cast<int>(if_index), 0, &id) == 0 ? id : 0;
}

struct Program {
    std::uint32_t id = 0;
    std::string name;
    std::vector<std::uint32_t> maps;  ///< ids
    std::uint32_t types = 0;          ///< id of the description of its types
};

std::optional<Program> program_of(int fd) {
    std::array<std::uint32_t, kMostMaps> maps{};
    bpf_prog_info info{};
    info.nr_map_ids = maps.size();
    info.map_ids = reinterpret_cast<std::uintptr_t>(maps.data());
    std::uint32_t length = sizeof info;
    if (bpf_obj_get_info_by_fd(fd, &info, &length) != 0) {
        return std::nullopt;
    }
    const auto count = std::min<std::size_t>(info.nr_map_ids, maps.size());
    return Program{
        info.id, info.name, {maps.begin(), maps.begin() + static_cast<std::ptrdiff_t>(count)}, info.btf_id};
}

/// Returns this process's descriptors, and their targets: "anon_inode:bpf-prog", "socket:[1234]", ...
std::vector<std::pair<int, std::string>> all_descriptors() {
    std::vector<std::pair<int, std::string>> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
        const auto target = std::filesystem::read_symlink(entry.path(), ignored).string();
        if (!ignored) {
            found.emplace_back(std::stoi(entry.path().filename().string()), target);
        }
    }
    return found;
}

/// Returns those of a kind ("bpf-prog", "bpf-map", "btf").
std::vector<int> own_descriptors(std::string_view kind) {
    std::vector<int> found;
    for (const auto& [fd, target] : all_descriptors()) {
        if (target == fmt::format("anon_inode:{}", kind)) {
            found.push_back(fd);
        }
    }
    return found;
}

/// Returns the present claims, in the order in which they were made.
std::vector<const XdpClaim*>& claims() {
    static auto& live = *new std::vector<const XdpClaim*>;  // never destroyed: ports may be closed at the end
    return live;
}

/// Returns the descriptors of the program, of its types and of its maps; only a map's has a name. The PMD
/// keeps them open; finding them by id instead would need CAP_SYS_ADMIN.
std::vector<std::pair<std::string, int>> descriptors_of(std::uint32_t id) {
    std::vector<std::pair<std::string, int>> found;
    std::vector<std::uint32_t> maps;
    std::uint32_t types = 0;
    for (const int fd : own_descriptors("bpf-prog")) {
        if (const auto program = program_of(fd); program && program->id == id) {
            maps = program->maps;
            types = program->types;
            found.emplace_back(std::string{}, fd);
        }
    }
    for (const int fd : own_descriptors("btf")) {
        bpf_btf_info info{};
        std::uint32_t length = sizeof info;
        if (bpf_obj_get_info_by_fd(fd, &info, &length) == 0 && info.id == types) {
            found.emplace_back(std::string{}, fd);
        }
    }
    for (const int fd : own_descriptors("bpf-map")) {
        bpf_map_info info{};
        std::uint32_t length = sizeof info;
        if (bpf_obj_get_info_by_fd(fd, &info, &length) == 0 &&
            std::ranges::find(maps, info.id) != maps.end()) {
            found.emplace_back(info.name, fd);
        }
    }
    return found;
}

/// Waits for the queues. A closed AF_XDP socket keeps its queue until the kernel's grace period is over and a
/// work item has run; until then the queue cannot be bound.
void wait_for_queues() noexcept {
    for (int i = 0; i < 2; ++i) {
        (void)::syscall(SYS_membarrier, kGracePeriod, 0, 0);
    }
    std::this_thread::sleep_for(kWorkItem);
}

/// Removes this very program from the interface. Returns 0, or a negative errno.
int detach(unsigned if_index, int program) {
    bpf_xdp_attach_opts options{};
    options.sz = sizeof options;
    options.old_prog_fd = program;
    return bpf_xdp_detach(static_cast<int>(if_index), 0, &options);
}

}  // namespace

bool xdp_built() noexcept {
    return true;
}

std::optional<AttachedProgram> attached_program(const std::string& netdev) {
    const std::uint32_t id = program_id(::if_nametoindex(netdev.c_str()));
    if (id == 0) {
        return std::nullopt;
    }
    AttachedProgram attached;
    attached.id = id;
    if (const Fd fd{bpf_prog_get_fd_by_id(id)}) {
        if (const auto program = program_of(fd.get())) {
            attached.name = program->name;
        }
    }
    attached.ours = attached.name == STEER_PROGRAM;
    return attached;
}

std::string instead_of_program(const std::string& netdev, std::uint32_t id) {
    const unsigned index = ::if_nametoindex(netdev.c_str());
    if (index == 0 || program_id(index) == id) {
        return {};
    }
    const auto attached = attached_program(netdev);
    if (!attached) {
        return "no XDP program";
    }
    return fmt::format("the XDP program {} (id {})",
                       attached->name.empty() ? "of another program" : fmt::format("\"{}\"", attached->name),
                       attached->id);
}

void check_xdp_privileges(const std::string& device, const std::string& where) {
    // Asking the kernel beats reading capabilities: user namespaces change what a capability is good for.
    constexpr std::string_view remedy =
        "run as root, or `setcap cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon,cap_ipc_lock+ep` on the "
        "program";
    const Fd socket{::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)};
    if (!socket) {
        if (errno == EPERM || errno == EACCES) {
            throw_error(where, "{} needs CAP_NET_RAW for its AF_XDP sockets: {}", device, remedy);
        }
        throw_error(where, "{} cannot open an AF_XDP socket: {}{}", device, std::strerror(errno),
                    errno == EAFNOSUPPORT ? "; this kernel is built without CONFIG_XDP_SOCKETS" : "");
    }
    const Fd map{bpf_map_create(BPF_MAP_TYPE_PERCPU_HASH, "spead_try", sizeof(SteerKey), sizeof(SteerValue),
                                1, nullptr)};
    if (!map) {
        if (errno == EPERM || errno == EACCES) {
            throw_error(where, "{} needs CAP_BPF (before Linux 5.8, CAP_SYS_ADMIN) for its XDP program: {}",
                        device, remedy);
        }
        throw_error(where, "{} cannot make a BPF map: {}", device, std::strerror(errno));
    }
}

std::string why_no_program(const std::string& netdev, bool attach) {
    libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
    const auto bytes = steer_object();
    const std::unique_ptr<bpf_object, decltype(&bpf_object__close)> object(
        bpf_object__open_mem(bytes.data(), bytes.size(), nullptr), &bpf_object__close);
    if (!object) {
        return fmt::format("the XDP program cannot be read: {}", std::strerror(errno));
    }
    if (const int error = bpf_object__load(object.get()); error != 0) {
        return fmt::format("the kernel does not load the XDP program: {}{}", std::strerror(-error),
                           error == -EACCES || error == -EPERM ? "; it takes CAP_BPF and CAP_PERFMON" : "");
    }
    const unsigned index = ::if_nametoindex(netdev.c_str());
    if (!attach || program_id(index) != 0) {
        return {};
    }
    const Fd program{::dup(bpf_program__fd(bpf_object__next_program(object.get(), nullptr)))};
    if (const int error =
            bpf_xdp_attach(static_cast<int>(index), program.get(), XDP_FLAGS_UPDATE_IF_NOEXIST, nullptr);
        error != 0) {
        return fmt::format(
            "the kernel does not put an XDP program on it: {} (is the MTU at the other end above "
            "3498?)",
            std::strerror(-error));
    }
    (void)detach(index, program.get());
    return {};
}

void check_no_foreign_program(const std::string& netdev, const std::string& where) {
    const auto attached = attached_program(netdev);
    if (attached && !attached->ours) {
        throw_error(where,
                    "the network interface {0} already has an XDP program, {1} (id {2}), which is not "
                    "replaced; if nothing needs it, run `ip link set dev {0} xdp off`",
                    netdev,
                    attached->name.empty() ? "whose name only CAP_SYS_ADMIN may know"
                                           : fmt::format("\"{}\"", attached->name),
                    attached->id);
    }
}

XdpClaim::XdpClaim(std::string netdev)
    : netdev_(std::move(netdev)), if_index_(::if_nametoindex(netdev_.c_str())) {
    libbpf_set_print(log_libbpf);
    // An abstract name lives in the network namespace and dies with its owner.
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text = fmt::format("dpdk-spead/xdp/{}", if_index_);
    text.copy(name.sun_path + 1, sizeof name.sun_path - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    Fd lock{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!lock || ::bind(lock.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0) {
        if (errno == EADDRINUSE) {
            throw_error(netdev_, "another port or process has this interface with net_af_xdp");
        }
        throw_error(netdev_, "cannot claim the interface: {}", std::strerror(errno));
    }
    check_no_foreign_program(netdev_, netdev_);
    remove_stale();
    Fd object{::memfd_create("dpdk-spead-xdp", MFD_CLOEXEC)};
    const auto bytes = steer_object();
    if (!object || ::write(object.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
        throw_error(netdev_, "cannot put the XDP program into memory: {}", std::strerror(errno));
    }
    before_ = sockets();
    claims().push_back(this);
    lock_ = lock.take();
    object_ = object.take();
}

XdpClaim::~XdpClaim() {
    release();
}

void XdpClaim::remove_stale() const {
    const std::uint32_t id = program_id(if_index_);
    if (id == 0) {
        return;
    }
    const Fd program{bpf_prog_get_fd_by_id(id)};
    if (const int error = program ? detach(if_index_, program.get()) : -errno; error != 0) {
        throw_error(netdev_,
                    "cannot remove the XDP program that an earlier process left: {}; run `ip link set dev {} "
                    "xdp off`",
                    std::strerror(-error), netdev_);
    }
    wait_for_queues();
}

std::string XdpClaim::program_path() const {
    return fmt::format("/proc/self/fd/{}", object_);
}

std::vector<XdpClaim::OpenSocket> XdpClaim::sockets() {
    std::vector<OpenSocket> found;
    for (auto& [fd, target] : all_descriptors()) {
        int domain = 0;
        socklen_t length = sizeof domain;
        if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_XDP) {
            found.push_back({fd, std::move(target)});
        }
    }
    return found;
}

/// Returns sockets made after this claim and before the next one: ports open one after the other.
std::vector<XdpClaim::OpenSocket> XdpClaim::own_sockets() const {
    auto own = sockets();
    const auto among = [](const std::vector<OpenSocket>& all, const OpenSocket& one) {
        return std::ranges::find(all, one) != all.end();
    };
    std::erase_if(own, [&](const OpenSocket& one) { return among(before_, one); });
    for (auto later = std::ranges::find(claims(), this); later != claims().end(); ++later) {
        if (*later != this) {
            std::erase_if(own, [&](const OpenSocket& one) { return !among((*later)->before_, one); });
        }
    }
    return own;
}

std::vector<int> XdpClaim::queue_sockets() const {
    // The PMD makes them in the order of the queues, and descriptors come ascending while none is given back.
    std::vector<int> fds;
    for (const OpenSocket& one : own_sockets()) {
        fds.push_back(one.fd);
    }
    std::ranges::sort(fds);
    return fds;
}

void XdpClaim::loaded() noexcept {
    if (program_ == 0) {
        program_ = program_id(if_index_);
    }
}

/// Keeps the foreign program. The kernel reports a program's attach mode by other numbers than in requests.
void XdpClaim::keep_foreign() noexcept {
    bpf_xdp_query_opts there{};
    there.sz = sizeof there;
    if (bpf_xdp_query(static_cast<int>(if_index_), 0, &there) != 0 || there.prog_id == 0 ||
        there.prog_id == program_) {
        return;
    }
    foreign_ = bpf_prog_get_fd_by_id(there.prog_id);
    foreign_flags_ = there.attach_mode == XDP_ATTACHED_SKB  ? XDP_FLAGS_SKB_MODE
                     : there.attach_mode == XDP_ATTACHED_HW ? XDP_FLAGS_HW_MODE
                                                            : XDP_FLAGS_DRV_MODE;
}

void XdpClaim::put_foreign_back() noexcept {
    const Fd program{std::exchange(foreign_, -1)};
    if (program && program_id(if_index_) == 0) {
        (void)bpf_xdp_attach(static_cast<int>(if_index_), program.get(),
                             foreign_flags_ | XDP_FLAGS_UPDATE_IF_NOEXIST, nullptr);
    }
}

void XdpClaim::remember() noexcept {
    try {
        bound_ = own_sockets();
        loaded();
        keep_foreign();
        left_.clear();
        for (const auto& [name, fd] : descriptors_of(program_)) {
            left_.push_back(fd);
        }
    } catch (const std::exception&) {
        // No memory: they stay open until the process ends.
    }
}

void XdpClaim::release() noexcept {
    if (lock_ < 0) {
        return;
    }
    for (const int fd : left_) {
        const auto program = program_ == program_id(if_index_) ? program_of(fd) : std::nullopt;
        if (program && program->id == program_) {
            (void)detach(if_index_, fd);
        }
    }
    put_foreign_back();
    for (const int fd : left_) {
        ::close(fd);
    }
    left_.clear();
    try {
        const auto open = sockets();
        for (const OpenSocket& one : bound_) {
            if (std::ranges::find(open, one) != open.end()) {
                ::close(one.fd);
            }
        }
    } catch (const std::exception&) {
        // No memory: they stay bound until the process ends.
    }
    if (!bound_.empty()) {
        wait_for_queues();
    }
    std::erase(claims(), this);
    ::close(std::exchange(object_, -1));
    ::close(std::exchange(lock_, -1));
}

int open_map(const std::string& netdev, const std::string& map) {
    const std::uint32_t id = program_id(::if_nametoindex(netdev.c_str()));
    for (const auto& [name, fd] : descriptors_of(id)) {
        if (!name.empty() && name == map) {
            if (const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0); own >= 0) {
                return own;
            }
            throw_error(netdev, "cannot use the map of its XDP program: {}", std::strerror(errno));
        }
    }
    throw_error(netdev, "its XDP program has no map \"{}\": the program was replaced", map);
}

}  // namespace spead::drivers
