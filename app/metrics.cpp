// SPDX-License-Identifier: BSD-3-Clause
#include "app/metrics.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <exception>
#include <netinet/in.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "app/metric_families.hpp"
#include "base/error.hpp"
#include "runtime/consumers.hpp"

namespace spead::app {

namespace {

/// One for Prometheus, one for a person with a browser.
constexpr std::size_t kThreads = 2;

class Collector : public prometheus::Collectable {
  public:
    explicit Collector(std::shared_ptr<const stats::SnapshotBoard> board) : board_(std::move(board)) {}
    std::vector<prometheus::MetricFamily> Collect() const override { return metric_families(board_->look()); }

  private:
    std::shared_ptr<const stats::SnapshotBoard> board_;
};

[[noreturn]] void refuse(const ListenAddress& listen, int error) {
    const std::string where = to_string(listen);
    switch (error) {
        case EADDRINUSE:
            throw_error(
                "metrics",
                "another program listens on {} (`ss -ltnp sport = {}` tells which); give another port, "
                "or 0 for one that is free",
                where, listen.port);
        case EADDRNOTAVAIL:
            throw_error(
                "metrics",
                "{} is no address of this machine; give one of its own, 127.0.0.1, or 0.0.0.0 for all",
                to_string(listen.address));
        case EACCES:
            throw_error("metrics", "ports below 1024 are root's; give another than {}", where);
        default:
            throw_error("metrics", "cannot listen on {}: {}", where, std::strerror(error));
    }
}

}  // namespace

struct Metrics::Server {
    std::shared_ptr<Collector> collector;
    std::unique_ptr<prometheus::Exposer> exposer;
};

/// The HTTP server's own error does not tell why it cannot listen.
void check_metrics(const ListenAddress& listen) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(listen.port);
    address.sin_addr.s_addr = htonl(listen.address.value);
    const int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const bool listens =
        bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && ::listen(fd, 1) == 0;
    const int error = errno;
    close(fd);
    if (!listens)
        refuse(listen, error);
}

Metrics::Metrics(std::shared_ptr<const stats::SnapshotBoard> board, const ListenAddress& listen,
                 const std::vector<unsigned>& cpus)
    : address_(listen), server_(std::make_unique<Server>()) {
    check_metrics(listen);
    server_->collector = std::make_shared<Collector>(std::move(board));
    // The server's threads inherit the CPUs of the thread that makes it; the calling one is an lcore.
    std::exception_ptr problem;
    std::thread([&] {
        try {
            runtime::run_on(cpus);
            server_->exposer = std::make_unique<prometheus::Exposer>(to_string(listen), kThreads);
            server_->exposer->RegisterCollectable(server_->collector);
            address_.port = static_cast<std::uint16_t>(server_->exposer->GetListeningPorts().at(0));
        } catch (...) {
            problem = std::current_exception();
        }
    }).join();
    if (!problem)
        return;
    try {
        std::rethrow_exception(problem);
    } catch (const std::exception& e) {
        throw_error("metrics", "cannot listen on {}: {}", to_string(listen), e.what());
    }
}

Metrics::~Metrics() = default;

}  // namespace spead::app
