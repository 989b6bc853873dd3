// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "observe/http_message.hpp"

namespace spead::observe {

/// Serves one client of an HttpServer: reads a request, answers, and leaves. Lives as long as an operation of
/// its waits, and ends by itself. The server's thread makes all calls.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
  public:
    using Tcp = boost::asio::ip::tcp;
    using ErrorCode = boost::system::error_code;
    using Clock = std::chrono::steady_clock;

    /// Holds the functions of the server that outlives this.
    struct Server {
        std::function<HttpRoute(const HttpRequest&)> route;
        /// Returns whether one more stream of events may begin.
        std::function<bool()> has_room_for_stream;
        std::function<void(const HttpConnection&)> forget;
        /// Logs a request that the server itself refuses.
        std::function<void(const HttpRequest&, int status)> refused;
        /// Runs a function on the server's thread, unless the server has ended. Any thread.
        std::function<void(std::function<void()>)> post;
    };

    HttpConnection(Tcp::socket socket, const Server& server);
    HttpConnection(const HttpConnection&) = delete;
    HttpConnection& operator=(const HttpConnection&) = delete;

    /// Begins to read.
    void start();
    /// Closes the connection, and lets the server forget it. Idempotent.
    void close();

    const boost::asio::ip::address& address() const noexcept { return address_; }
    bool is_stream() const noexcept { return stream_.has_value(); }
    /// Returns whether its request has come, and its answer has not gone yet.
    bool is_answering() const noexcept { return state_ == State::answering; }

  private:
    enum class State : std::uint8_t { reading, answering, streaming, leaving, closed };
    using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

    void wait_at_most(Clock::duration patience);
    void wait_without_limit();
    void watch();
    void on_head(const ErrorCode& error);
    void on_body(const ErrorCode& error);
    void refuse(const ErrorCode& error);
    void refuse(int status, std::string_view words);
    HttpRequest head() const;
    void take(HttpRoute route);
    void read_body();
    void begin_later();
    void answer(HttpAnswer answer);
    void write(std::string text, std::shared_ptr<const std::string> body, void (HttpConnection::*then)());
    void leave();
    void discard();
    void begin_stream(HttpStream stream);
    void next_text();
    void wait_for_next();

    Tcp::socket socket_;
    const Server& server_;
    boost::asio::ip::address address_;
    std::string client_;
    boost::asio::steady_timer end_;
    Clock::time_point deadline_;
    boost::beast::flat_buffer buffer_;
    std::optional<Parser> parser_;
    bool only_head_ = false;  ///< the request is a HEAD
    State state_ = State::reading;
    std::optional<HttpLater> later_;
    std::string text_;                         ///< that is being written
    std::shared_ptr<const std::string> body_;  ///< likewise, after it
    std::array<char, 1024> thrown_away_{};
    std::size_t afterwards_ = 0;  ///< bytes that came after the request

    std::optional<HttpStream> stream_;
    boost::asio::steady_timer next_;
    std::size_t left_out_ = 0;
};

}  // namespace spead::observe
