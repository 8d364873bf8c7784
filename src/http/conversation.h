// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_CONVERSATION_H_
#define LOCUS_SRC_HTTP_CONVERSATION_H_

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "src/base/text/text.h"
#include "src/http/answer_text.h"
#include "src/http/head_rules.h"
#include "src/http/server.h"

// The server's reading and writing on one connection. Only server.cc includes it.

namespace locus::http {

using TimePoint = std::chrono::steady_clock::time_point;

// A connection of a loop, in whose thread alone it is used.
struct Connection {
  explicit Connection(boost::asio::ip::tcp::socket from) : socket(std::move(from)) {}
  // Gives up the present wait after this time. A loop looks at the deadlines of all its connections
  // from time to time, which costs a request less than a timer of its own.
  void Arm(absl::Duration within) {
    deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(within);
  }
  void Disarm() { deadline = TimePoint::max(); }
  bool armed() const { return deadline != TimePoint::max(); }

  boost::asio::ip::tcp::socket socket;
  std::string peer;
  TimePoint deadline = TimePoint::max();
  bool expired = false;
  bool idle = false;          // between two requests
  size_t body_bytes = 0;      // that it has taken of ServerOptions::most_bytes_of_bodies
  bool shakes_hands = false;  // of TLS
  bool ends = false;          // the server ends: no request that has not begun is read
};

// The result of waiting for a request. Neither request nor refusal: the client is gone, silent for
// too long, or the server ends.
struct Received {
  std::optional<ServerRequest> request;
  std::optional<ServerAnswer> refusal;
  AnswerForm form;
};

// `Server` has options(), and TakeBodyBytes(size_t): whether so many more bytes may be kept.
// `stream`: what the connection's bytes are read from.
template <typename Stream, typename Server>
class Conversation {
 public:
  template <typename T>
  using awaitable = boost::asio::awaitable<T>;

  Conversation(Stream& stream, Connection& connection, Server& server)
      : stream_(stream),
        connection_(connection),
        server_(server),
        buffer_(server.options().most_header_bytes + kPiece) {}

  // The next request, or why there is none.
  awaitable<Received> Receive() {
    Received received;
    size_t seen = 0;
    bool skipped = false;
    while (true) {
      std::string_view bytes(static_cast<const char*>(buffer_.data().data()), buffer_.size());
      // One empty line before a request is that of a client that ends bodies with one (RFC 9112,
      // section 2.2).
      if (!skipped && bytes.starts_with("\r\n")) {
        skipped = true;
        buffer_.consume(2);
        bytes.remove_prefix(2);
        seen = 0;
      }
      const HeadScan scan = ScanHead(bytes, seen);
      std::string_view flaw = scan.flaw;
      const size_t head = scan.size > 0 ? scan.size : bytes.size();
      if (flaw.empty() && head > server_.options().most_header_bytes) {
        received.refusal = Problem(431, "the header is too long");
        co_return received;
      }
      if (flaw.empty() && scan.size > 0) flaw = FlawOfHead(bytes.substr(0, head));
      if (!flaw.empty()) {
        received.refusal = Problem(400, flaw);
        co_return received;
      }
      if (scan.size > 0) break;
      seen = bytes.size();
      if (!co_await ReadMore(/*is_first=*/seen == 0)) {
        if (connection_.expired && seen > 0) received.refusal = TooSlow();
        co_return received;
      }
    }
    co_await Parse(received);
    co_return received;
  }

  // Adds an answer to what is sent next, or sends it. False: the client is gone.
  awaitable<bool> Say(ServerAnswer answer, const AnswerForm& form, bool head) {
    AppendHead(unsent_, answer, form);
    if (head) answer.body.clear();
    if (answer.body.size() > kMostCopied) co_return co_await Flush(answer.body);
    unsent_ += answer.body;
    if (unsent_.size() < kMostUnsent && form.keep_alive) co_return true;
    co_return co_await Flush({});
  }

  // Sends the head of an answer whose body comes later. False: the client is gone.
  awaitable<bool> Begin(const ServerAnswer& answer, const AnswerForm& form) {
    AppendHead(unsent_, answer, form);
    co_return co_await Flush({});
  }

  // Behind a refusal. Reads what the client still sends, for a while: if the connection were closed
  // before it was read, the client's kernel would throw the refusal away.
  awaitable<void> Linger() {
    error_code ignored;
    connection_.socket.shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
    connection_.expired = false;
    connection_.Arm(std::min(server_.options().request_timeout, kMostLinger));
    buffer_.clear();
    for (size_t all = 0; all < kMostLingerBytes;) {
      auto [error, size] =
          co_await connection_.socket.async_read_some(buffer_.prepare(kFirstRead), Await());
      if (error || connection_.expired) break;
      all += size;
    }
  }

  // Sends what is unsent, and `more`.
  awaitable<bool> Flush(std::string_view more) {
    if (unsent_.empty() && more.empty()) co_return true;
    std::array<boost::asio::const_buffer, 2> buffers = {boost::asio::buffer(unsent_),
                                                        boost::asio::buffer(more)};
    bool good = true;
    if (!SendAtOnce(buffers, good)) {
      const TimePoint deadline = connection_.deadline;
      connection_.expired = false;
      connection_.Arm(server_.options().request_timeout);
      auto [error, sent] = co_await boost::asio::async_write(stream_, buffers, Await());
      good = !error && !connection_.expired;
      connection_.deadline = deadline;
    }
    unsent_.clear();
    if (unsent_.capacity() > 4 * kMostUnsent) unsent_.shrink_to_fit();
    co_return good;
  }

 private:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Error = boost::beast::http::error;
  using error_code = boost::system::error_code;

  static constexpr auto Await() { return boost::asio::as_tuple(boost::asio::use_awaitable); }

  // Answers that wait to be sent together with later ones, as long as their requests are there.
  static constexpr size_t kMostUnsent = size_t{64} << 10;
  // A longer body is sent from where it is.
  static constexpr size_t kMostCopied = size_t{16} << 10;
  static constexpr size_t kFirstRead = 4096;
  static constexpr absl::Duration kMostLinger = absl::Seconds(1);
  static constexpr size_t kMostLingerBytes = size_t{2} << 20;
  // More than a head. Of what no limit of the parser counts, such as the trailers and the
  // extensions of chunks, the buffer holds what has no end yet.
  static constexpr size_t kPiece = size_t{16} << 10;

  static std::string TextOf(boost::beast::string_view text) {
    return std::string(text.data(), text.size());
  }
  static ServerAnswer TooSlow() { return Problem(408, "the request did not come in time"); }
  // The answer to a request that the parser refuses.
  static ServerAnswer AnswerTo(const error_code& error) {
    if (error == Error::header_limit) return Problem(431, "the header is too long");
    if (error == Error::body_limit) return Problem(413, "the body is too long");
    return Problem(400, "this is no HTTP request");
  }

  // Without the body.
  static ServerRequest RequestOf(const Request& from, const std::string& peer) {
    ServerRequest request;
    request.method = TextOf(from.method_string());
    const auto [authority, rest] = SplitTarget({from.target().data(), from.target().size()});
    const size_t mark = std::min(rest.find('?'), rest.size());
    request.path = mark == 0 ? "/" : rest.substr(0, mark);
    if (mark < rest.size()) request.query = rest.substr(mark + 1);
    request.headers.reserve(8);
    for (const auto& field : from) {
      // The host of the target goes before the field.
      const bool is_host = field.name() == boost::beast::http::field::host;
      request.headers.emplace_back(TextOf(field.name_string()), is_host && !authority.empty()
                                                                    ? std::string(authority)
                                                                    : TextOf(field.value()));
    }
    request.peer = peer;
    return request;
  }

  // A request whose head is in the buffer.
  awaitable<void> Parse(Received& received) {
    RequestParser parser;
    parser.header_limit(static_cast<uint32_t>(server_.options().most_header_bytes));
    parser.body_limit(server_.options().most_body_bytes);
    error_code error;
    buffer_.consume(parser.put(buffer_.data(), error));  // no further than the head
    if (!error && !parser.is_header_done()) error = Error::bad_field;
    if (error) {
      received.refusal = AnswerTo(error);
      co_return;
    }
    received.form.is_1_1 = parser.get().version() >= 11;
    received.form.keep_alive = parser.get().keep_alive();
    // Fields behind a chunked body are not among them.
    ServerRequest request = RequestOf(parser.get(), connection_.peer);
    const std::string_view expected = request.Header("Expect");
    if (!parser.is_done() && received.form.is_1_1 && !expected.empty() &&
        !absl::EqualsIgnoreCase(internal::ToAbsl(expected), "100-continue")) {
      received.refusal = Problem(417, "the only Expect that is understood is 100-continue");
      co_return;
    }
    const auto& reads_body = server_.options().reads_body;
    if (!parser.is_done() && reads_body && !reads_body(request)) {
      request.body_unread = true;
      received.form.keep_alive = false;
    } else if (!parser.is_done()) {
      received.refusal = co_await ReadBody(request, received.form, parser);
      if (received.refusal || !parser.is_done()) co_return;
      request.body = std::move(parser.get().body());
    }
    received.request = std::move(request);
  }

  // Until the parser is done, or the client is gone, or there is something to refuse.
  awaitable<std::optional<ServerAnswer>> ReadBody(const ServerRequest& request,
                                                  const AnswerForm& form, RequestParser& parser) {
    if (!request.Header("Expect").empty() && form.is_1_1) {
      unsent_ += "HTTP/1.1 100 Continue\r\n\r\n";
      if (!co_await Flush({})) co_return std::nullopt;
    }
    parser.eager(true);
    while (true) {
      error_code error;
      buffer_.consume(parser.put(buffer_.data(), error));
      if (error && error != Error::need_more) co_return AnswerTo(error);
      if (!Keep(parser.get().body().size())) {
        ServerAnswer full = Problem(503, "the bodies of other requests fill the memory for bodies");
        full.headers.emplace_back("Retry-After", "1");
        co_return full;
      }
      if (parser.is_done()) co_return std::nullopt;
      if (buffer_.size() >= buffer_.max_size()) {
        co_return Problem(431, "the trailer or the extension of a chunk is too long");
      }
      if (!co_await ReadMore(/*is_first=*/false)) {
        if (!connection_.expired) co_return std::nullopt;
        co_return TooSlow();
      }
    }
  }

  // Whether so many bytes of a body may be kept. The first ones are bounded by the connections, so
  // that small requests are served beside large ones.
  bool Keep(size_t size) {
    constexpr size_t kFree = 4096;
    const size_t counted = size > kFree ? size - kFree : 0;
    if (counted <= connection_.body_bytes) return true;
    if (!server_.TakeBodyBytes(counted - connection_.body_bytes)) return false;
    connection_.body_bytes = counted;
    return true;
  }

  // False: the client is gone, or its time is over, or the server ends. `is_first`: nothing of a
  // request is there yet; its deadline begins with its first bytes.
  awaitable<bool> ReadMore(bool is_first) {
    if (!co_await Flush({})) co_return false;
    if (is_first && connection_.ends) co_return false;
    if (is_first) {
      connection_.Arm(server_.options().idle_timeout);
    } else if (!connection_.armed()) {
      connection_.Arm(server_.options().request_timeout);
    }
    const size_t size =
        std::min(std::max(kFirstRead, buffer_.size()), buffer_.max_size() - buffer_.size());
    connection_.idle = is_first;
    auto [error, read] = co_await stream_.async_read_some(buffer_.prepare(size), Await());
    connection_.idle = false;
    if (error || connection_.expired) co_return false;
    buffer_.commit(read);
    if (is_first) connection_.Disarm();
    co_return true;
  }

  // Whether all of it is sent, or the client is gone, without having waited. Otherwise `buffers`
  // have what is left.
  bool SendAtOnce(std::array<boost::asio::const_buffer, 2>& buffers, bool& good) {
    if constexpr (std::is_same_v<Stream, boost::asio::ip::tcp::socket>) {
      error_code error;
      size_t sent = stream_.write_some(buffers, error);
      if (error && error != boost::asio::error::would_block) {
        good = false;
        return true;
      }
      for (boost::asio::const_buffer& buffer : buffers) {
        const size_t of_this = std::min(sent, buffer.size());
        buffer += of_this;
        sent -= of_this;
      }
      return buffers[0].size() + buffers[1].size() == 0;
    }
    return false;
  }

  Stream& stream_;
  Connection& connection_;
  Server& server_;
  boost::beast::flat_buffer buffer_;
  std::string unsent_;  // answers; the last one may lack its body
};

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_CONVERSATION_H_
