// SPDX-License-Identifier: BSD-3-Clause
#include "observe/http_connection.hpp"

#include <array>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

#include <fmt/core.h>

#include "base/log.hpp"
#include "observe/http_limits.hpp"

namespace spead::observe {

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

/// Lists the fields that decide whether a request may do something. Of several, a proxy may have judged
/// another.
constexpr std::array kOnce{http::field::host, http::field::origin, http::field::authorization,
                           http::field::content_type, http::field::if_match};

/// Holds the version of HTTP/1.1 as the parser numbers it.
constexpr unsigned kHttp11 = 11;

std::string text_of(boost::beast::string_view text) {
    return {text.data(), text.size()};
}

std::string text_of(const HttpConnection::Tcp::socket& socket) {
    boost::system::error_code error;
    const auto peer = socket.remote_endpoint(error);
    return error ? "somebody" : fmt::format("{}:{}", peer.address().to_string(), peer.port());
}

asio::ip::address address_of(const HttpConnection::Tcp::socket& socket) {
    boost::system::error_code error;
    return socket.remote_endpoint(error).address();
}

}  // namespace

HttpConnection::HttpConnection(Tcp::socket socket, const Server& server)
    : socket_(std::move(socket)),
      server_(server),
      address_(address_of(socket_)),
      client_(text_of(socket_)),
      end_(socket_.get_executor()),
      buffer_(2 * http_limits::kLongestHead),
      next_(socket_.get_executor()) {
    parser_.emplace();
    parser_->header_limit(http_limits::kLongestHead);
    parser_->body_limit(http_limits::kLongestBody);
}

void HttpConnection::start() {
    wait_at_most(http_limits::kRequestPatience);
    http::async_read_header(
        socket_, buffer_, *parser_,
        [self = shared_from_this()](const ErrorCode& error, std::size_t) { self->on_head(error); });
}

void HttpConnection::close() {
    if (state_ == State::closed)
        return;
    const auto self = shared_from_this();
    state_ = State::closed;
    ErrorCode ignored;
    socket_.close(ignored);
    end_.cancel(ignored);
    next_.cancel(ignored);
    server_.forget(*this);
}

/// Closes the connection after the time, unless it is called again before.
void HttpConnection::wait_at_most(Clock::duration patience) {
    deadline_ = Clock::now() + patience;
    end_.expires_at(deadline_);
    watch();
}

void HttpConnection::wait_without_limit() {
    deadline_ = Clock::time_point::max();
    ErrorCode ignored;
    end_.cancel(ignored);
}

void HttpConnection::watch() {
    end_.async_wait([self = shared_from_this()](const ErrorCode& error) {
        // A timer that was set again may have expired already, and its handler be on its way.
        if (!error && Clock::now() >= self->deadline_)
            self->close();
    });
}

void HttpConnection::on_head(const ErrorCode& error) {
    if (state_ != State::reading)
        return;
    if (error) {
        refuse(error);
        return;
    }
    const HttpRequest request = head();
    only_head_ = request.method == "HEAD";
    if (!request.path.starts_with('/')) {
        answer(error_answer(400, "the request names no path"));
        return;
    }
    for (const http::field field : kOnce)
        if (parser_->get().count(field) > 1) {
            answer(error_answer(400, fmt::format("the request has several fields `{}`; send one",
                                                 text_of(http::to_string(field)))));
            return;
        }
    if (parser_->get().version() == kHttp11 && parser_->get().count(http::field::host) == 0) {
        answer(error_answer(400, "the request has no field `Host`, which HTTP/1.1 requires"));
        return;
    }
    HttpRoute route;
    try {
        route = server_.route(request);
    } catch (const std::exception& problem) {
        log_error(LogType::app, "http: {} cannot be made: {}", request.path, problem.what());
        route = error_answer(500, "this answer cannot be made; the log of the process says why");
    }
    take(std::move(route));
}

/// Answers a request that is none, if its client may still listen.
void HttpConnection::refuse(const ErrorCode& error) {
    if (error == http::error::header_limit || error == http::error::buffer_overflow)
        refuse(431, fmt::format("the head of the request has more than {} bytes", http_limits::kLongestHead));
    else if (error == http::error::body_limit)
        refuse(413, fmt::format("the body of the request has more than {} bytes", http_limits::kLongestBody));
    else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
             error != http::error::end_of_stream && error != http::error::partial_message)
        answer(error_answer(400, fmt::format("this is no HTTP/1.1: {}", error.message())));
    else
        close();
}

/// Refuses a request that asks for too much, and logs that.
void HttpConnection::refuse(int status, std::string_view words) {
    HttpRequest request = head();
    // The parser has read nothing of a head that is not whole.
    if (request.path.empty())
        take_request_line(request, {static_cast<const char*>(buffer_.data().data()), buffer_.size()});
    server_.refused(request, status);
    answer(error_answer(status, words));
}

HttpRequest HttpConnection::head() const {
    const auto& message = parser_->get();
    const std::string target = text_of(message.target());
    const std::size_t path = std::min(target.find_first_of("?#"), target.size());
    const std::size_t fragment = std::min(target.find('#'), target.size());
    HttpRequest request;
    request.method = text_of(message.method_string());
    request.path = target.substr(0, path);
    if (path < fragment)
        request.query = target.substr(path + 1, fragment - path - 1);
    request.host = text_of(message[http::field::host]);
    request.origin = text_of(message[http::field::origin]);
    request.authorization = text_of(message[http::field::authorization]);
    request.content_type = text_of(message[http::field::content_type]);
    request.if_match = text_of(message[http::field::if_match]);
    request.if_none_match = text_of(message[http::field::if_none_match]);
    request.last_event_id = text_of(message["Last-Event-ID"]);
    request.client = client_;
    return request;
}

void HttpConnection::take(HttpRoute route) {
    if (auto* const now = std::get_if<HttpAnswer>(&route)) {
        answer(std::move(*now));
    } else if (auto* const stream = std::get_if<HttpStream>(&route)) {
        if (!server_.has_room_for_stream())
            refuse(503, fmt::format("{} clients have streams already; close one, or ask again",
                                    http_limits::kMostStreams));
        else if (only_head_)
            answer({.type = "text/event-stream", .body = std::make_shared<const std::string>()});
        else
            begin_stream(std::move(*stream));
    } else {
        later_ = std::move(std::get<HttpLater>(route));
        if (parser_->is_done() || only_head_ || parser_->get().method() == http::verb::get)
            begin_later();
        else if (boost::beast::iequals(parser_->get()[http::field::expect], "100-continue"))
            write("HTTP/1.1 100 Continue\r\n\r\n", nullptr, &HttpConnection::read_body);
        else
            read_body();
    }
}

void HttpConnection::read_body() {
    http::async_read(
        socket_, buffer_, *parser_,
        [self = shared_from_this()](const ErrorCode& error, std::size_t) { self->on_body(error); });
}

void HttpConnection::on_body(const ErrorCode& error) {
    if (state_ != State::reading)
        return;
    if (error)
        refuse(error);
    else
        begin_later();
}

void HttpConnection::begin_later() {
    state_ = State::answering;
    wait_at_most(http_limits::kLaterPatience);
    HttpRequest request = head();
    request.body = std::move(parser_->get().body());
    HttpReply reply = [post = server_.post, weak = weak_from_this()](HttpAnswer made) {
        post([weak, made = std::move(made)] {
            if (const auto self = weak.lock(); self != nullptr && self->state_ == State::answering)
                self->answer(made);
        });
    };
    try {
        later_->begin(std::move(request), std::move(reply));
    } catch (const std::exception& problem) {
        log_error(LogType::app, "http: a request cannot be begun: {}", problem.what());
        answer(error_answer(503, "the request cannot be begun; nothing was changed"));
    }
}

void HttpConnection::answer(HttpAnswer answer) {
    if (state_ == State::closed)
        return;
    state_ = State::answering;
    wait_at_most(http_limits::kAnswerPatience);
    const bool has_body = answer.status != 304;
    if (answer.body == nullptr && has_body)
        answer = error_answer(answer.status, phrase_of(answer.status));
    std::string fields;
    if (has_body)
        fields = fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", answer.type, answer.body->size());
    for (const auto& [name, value] : answer.fields)
        fields += fmt::format("{}: {}\r\n", name, value);
    std::string head =
        fmt::format("HTTP/1.1 {} {}\r\n{}X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
                    answer.status, phrase_of(answer.status), fields);
    write(std::move(head), only_head_ || !has_body ? nullptr : std::move(answer.body),
          &HttpConnection::leave);
}

void HttpConnection::write(std::string text, std::shared_ptr<const std::string> body,
                           void (HttpConnection::*then)()) {
    text_ = std::move(text);
    body_ = std::move(body);
    const std::array<asio::const_buffer, 2> both{
        asio::buffer(text_), body_ == nullptr ? asio::const_buffer() : asio::buffer(*body_)};
    asio::async_write(socket_, both, [self = shared_from_this(), then](const ErrorCode& error, std::size_t) {
        if (self->state_ == State::closed)
            return;
        if (error)
            self->close();
        else
            (*self.*then)();
    });
}

void HttpConnection::leave() {
    ErrorCode ignored;
    socket_.shutdown(Tcp::socket::shutdown_send, ignored);
    body_.reset();
    parser_.reset();
    buffer_ = {};
    state_ = State::leaving;
    wait_at_most(http_limits::kLeaving);
    discard();
}

/// Discards the bytes that come after the request, until there are no more, or too many.
void HttpConnection::discard() {
    socket_.async_read_some(asio::buffer(thrown_away_),
                            [self = shared_from_this()](const ErrorCode& error, std::size_t size) {
                                if (self->state_ == State::closed)
                                    return;
                                self->afterwards_ += size;
                                if (error || self->afterwards_ > http_limits::kMostAfterwards)
                                    self->close();
                                else
                                    self->discard();
                            });
}

void HttpConnection::begin_stream(HttpStream stream) {
    stream_ = std::move(stream);
    state_ = State::streaming;
    discard();
    wait_at_most(http_limits::kAnswerPatience);
    write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "Connection: close\r\n\r\n",
        nullptr, &HttpConnection::next_text);
}

/// Writes the next text. A client that has not taken the last one goes without it, and is told.
void HttpConnection::next_text() {
    std::string text;
    try {
        text = stream_->next(left_out_);
    } catch (const std::exception& problem) {
        log_error(LogType::app, "http: a stream has ended: {}", problem.what());
        close();
        return;
    }
    left_out_ = 0;
    wait_at_most(http_limits::kAnswerPatience);
    write(text.empty() ? ": nothing new\n\n" : std::move(text), nullptr, &HttpConnection::wait_for_next);
    next_.expires_after(stream_->interval);
}

void HttpConnection::wait_for_next() {
    wait_without_limit();
    // Intervals that passed meanwhile are over.
    const auto late = Clock::now() - next_.expiry();
    if (late > Clock::duration::zero())
        left_out_ = static_cast<std::size_t>(late / stream_->interval);
    next_.async_wait([self = shared_from_this()](const ErrorCode& error) {
        if (!error && self->state_ == State::streaming)
            self->next_text();
    });
}

}  // namespace spead::observe
