// SPDX-License-Identifier: BSD-3-Clause
#include "app/metrics.hpp"

#include <cerrno>
#include <cstring>
#include <optional>
#include <prometheus/text_serializer.h>
#include <system_error>
#include <utility>

#include "app/http_server.hpp"
#include "app/metric_families.hpp"
#include "base/error.hpp"

namespace spead::app {

namespace {

/// Whoever asks again so soon gets the same page, however many ask.
constexpr std::chrono::milliseconds kSamePage{200};

/// As Prometheus's text format is called (Exposition formats, "Basic info").
constexpr const char* kType = "text/plain; version=0.0.4; charset=utf-8";

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

/// The page, made anew when there is something new. For the server's thread.
class MetricsPage {
  public:
    explicit MetricsPage(std::shared_ptr<const stats::SnapshotBoard> board) : board_(std::move(board)) {}

    HttpServer::Page operator()(std::string_view path) {
        if (path != "/metrics")
            return {.status = 404, .body = nullptr};
        const auto now = HttpServer::Clock::now();
        if (page_ == nullptr || now - made_ >= kSamePage) {
            page_ = std::make_shared<const std::string>(
                prometheus::TextSerializer().Serialize(metric_families(board_->look())));
            made_ = now;
        }
        return {.type = kType, .body = page_};
    }

  private:
    std::shared_ptr<const stats::SnapshotBoard> board_;
    std::shared_ptr<const std::string> page_;
    HttpServer::Clock::time_point made_{};
};

}  // namespace

struct Metrics::Server {
    Server(const ListenAddress& listen, const std::vector<unsigned>& cpus,
           std::shared_ptr<const stats::SnapshotBoard> board)
        : http(listen, cpus, MetricsPage(std::move(board))) {}
    HttpServer http;
};

void check_metrics(const ListenAddress& listen) {
    try {
        const HttpServer server(listen, {}, [](std::string_view) { return HttpServer::Page{}; });
    } catch (const std::system_error& error) {
        refuse(listen, error.code().value());
    }
}

Metrics::Metrics(std::shared_ptr<const stats::SnapshotBoard> board, const ListenAddress& listen,
                 const std::vector<unsigned>& cpus)
    : address_(listen) {
    try {
        server_ = std::make_unique<Server>(listen, cpus, std::move(board));
    } catch (const std::system_error& error) {
        refuse(listen, error.code().value());
    }
    address_ = server_->http.address();
}

Metrics::~Metrics() = default;

}  // namespace spead::app
