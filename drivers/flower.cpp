// SPDX-License-Identifier: BSD-3-Clause
/// Sends messages of rtnetlink(7) and linux/{pkt_sched,pkt_cls}.h, as tc(8) would.
#include "drivers/flower.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <linux/if_ether.h>
#include <linux/netlink.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_skbedit.h>
#include <net/if.h>
#include <sched.h>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/core.h>

#include "base/start_thread.hpp"

namespace spead::drivers {

namespace {

/// Builds one traffic control message on the loopback interface.
class Message {
  public:
    Message(std::uint16_t type, std::uint32_t parent, std::uint32_t handle, std::uint32_t info) {
        auto* const header = new (bytes_.data()) nlmsghdr{};
        header->nlmsg_type = type;
        header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
        auto* const body = new (bytes_.data() + NLMSG_HDRLEN) tcmsg{};
        body->tcm_family = AF_UNSPEC;
        body->tcm_ifindex = static_cast<int>(::if_nametoindex("lo"));
        body->tcm_parent = parent;
        body->tcm_handle = handle;
        body->tcm_info = info;
        size_ = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(tcmsg));
    }

    void add(std::uint16_t type, const void* value, std::size_t length) {
        const rtattr attribute{static_cast<std::uint16_t>(RTA_LENGTH(length)), type};
        std::memcpy(bytes_.data() + size_, &attribute, sizeof attribute);
        if (length != 0) {
            std::memcpy(bytes_.data() + size_ + RTA_LENGTH(0), value, length);
        }
        size_ += RTA_SPACE(length);
    }
    void add(std::uint16_t type, const char* text) { add(type, text, std::strlen(text) + 1); }

    std::size_t begin(std::uint16_t type) {
        const std::size_t at = size_;
        add(type, nullptr, 0);
        return at;
    }
    void end(std::size_t at) {
        const auto length = static_cast<std::uint16_t>(size_ - at);
        std::memcpy(bytes_.data() + at, &length, sizeof length);
    }

    /// Sends the message. Returns 0, or the kernel's error number.
    int send(int socket) {
        const auto length = static_cast<std::uint32_t>(size_);
        std::memcpy(bytes_.data(), &length, sizeof length);
        if (::send(socket, bytes_.data(), size_, 0) < 0) {
            return errno;
        }
        struct {
            nlmsghdr header;
            nlmsgerr error;
            char rest[1024];
        } answer{};
        if (::recv(socket, &answer, sizeof answer, 0) < 0) {
            return errno;
        }
        return answer.header.nlmsg_type == NLMSG_ERROR ? -answer.error.error : EPROTO;
    }

  private:
    alignas(nlmsghdr) std::array<char, 1024> bytes_{};
    std::size_t size_ = 0;
};

int try_flower(int socket) {
    Message message(RTM_NEWTFILTER, TC_H_MAKE(TC_H_INGRESS, 0), 0, TC_H_MAKE(1U << 16, htons(ETH_P_ALL)));
    message.add(TCA_KIND, "flower");
    const std::size_t options = message.begin(TCA_OPTIONS);
    const std::uint16_t ipv4 = htons(ETH_P_IP);
    message.add(TCA_FLOWER_KEY_ETH_TYPE, &ipv4, sizeof ipv4);
    const std::size_t actions = message.begin(TCA_FLOWER_ACT);
    const std::size_t first = message.begin(1);
    message.add(TCA_ACT_KIND, "skbedit");
    const std::size_t edit = message.begin(TCA_ACT_OPTIONS);
    tc_skbedit parameters{};
    parameters.action = TC_ACT_PIPE;
    message.add(TCA_SKBEDIT_PARMS, &parameters, sizeof parameters);
    const std::uint16_t queue = 0;
    message.add(TCA_SKBEDIT_QUEUE_MAPPING, &queue, sizeof queue);
    message.end(edit);
    message.end(first);
    message.end(actions);
    message.end(options);
    return message.send(socket);
}

std::string ask_kernel() {
    if (::unshare(CLONE_NEWNET) != 0) {
        return fmt::format("cannot ask the kernel for it in a network namespace: {}", std::strerror(errno));
    }
    const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (socket < 0) {
        return fmt::format("cannot ask the kernel: {}", std::strerror(errno));
    }
    std::string reason;
    Message multiq(RTM_NEWQDISC, TC_H_ROOT, TC_H_MAKE(1U << 16, 0), 0);
    multiq.add(TCA_KIND, "multiq");
    const tc_multiq_qopt bands{};
    multiq.add(TCA_OPTIONS, &bands, sizeof bands);
    Message ingress(RTM_NEWQDISC, TC_H_INGRESS, TC_H_MAKE(TC_H_INGRESS, 0), 0);
    ingress.add(TCA_KIND, "ingress");
    // The loopback interface has one queue, which multiq refuses once it is there.
    if (const int error = multiq.send(socket); error != 0 && error != EOPNOTSUPP) {
        reason = fmt::format("the kernel has no queueing discipline multiq (module sch_multiq): {}",
                             std::strerror(error));
    } else if (const int no_ingress = ingress.send(socket); no_ingress != 0) {
        reason = fmt::format("the kernel has no queueing discipline ingress (module sch_ingress): {}",
                             std::strerror(no_ingress));
    } else if (const int no_flower = try_flower(socket); no_flower != 0) {
        reason = fmt::format(
            "the kernel has no classifier flower with action skbedit (modules cls_flower, act_skbedit): {}",
            std::strerror(no_flower));
    }
    ::close(socket);
    return reason;
}

}  // namespace

const std::string& why_no_flower() {
    // Never destroyed: threads may ask while the process ends.
    static const std::string& answer = *new const std::string([] {
        std::string reason;
        // The namespace is the thread's, and ends with it.
        start_thread("flower", [&reason] { reason = ask_kernel(); }).join();
        return reason;
    }());
    return answer;
}

}  // namespace spead::drivers
