// SPDX-License-Identifier: Apache-2.0
#include "src/http/connection.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <type_traits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/resolve.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/text/text.h"
#include "src/http/tls_context_rep.h"

namespace locus::http {

using internal::CopySecret;
using internal::SecretBytes;
using internal::ToAbsl;

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace message = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr uint32_t kLongestHead = 64 << 10;
constexpr size_t kLongestPiece = 64 << 10;
// The limit of bytes that are not parsed yet. Beast's parser itself accepts chunk extensions and
// trailers of any length.
constexpr size_t kLongestBuffer = kLongestHead + kLongestPiece;
// At the deadline, data that the system already has may still be read.
constexpr int kLatePieces = 100;

std::string Describe(const error_code& error) {
  if (error == message::error::end_of_stream || error == asio::error::eof ||
      error == message::error::partial_message || error == asio::ssl::error::stream_truncated) {
    return "connection closed";
  }
  return error.message();
}

// An error of TLS itself lasts until the configuration is repaired. (A server refuses a client's
// certificate only in its answer to the first request.)
absl::Status Failed(const error_code& error) {
  if (error == asio::error::timed_out) return absl::UnavailableError("no answer in time");
  bool refused = error.category() == asio::error::get_ssl_category();
  return refused ? absl::FailedPreconditionError(Describe(error) + " (TLS)")
                 : absl::UnavailableError(Describe(error));
}

absl::Status TooLong(std::string_view what, size_t most) {
  return absl::OutOfRangeError(
      absl::StrCat("the answer has ", ToAbsl(what), "; at most ", most, " are taken"));
}

// In memory of its own, since a header may be a secret.
absl::StatusOr<SecretBytes> HeadOf(const HttpRequest& request, const Endpoint& endpoint) {
  std::vector<std::string_view> parts = {request.method, " ",          request.target,
                                         " HTTP/1.1",    "\r\nHost: ", endpoint.text};
  for (const auto& [name, value] : request.headers) {
    parts.insert(parts.end(), {"\r\n", name, ": ", value});
  }
  std::string length = absl::StrCat(request.body.size());
  if (!request.body.empty() || request.method == "POST") {
    parts.insert(parts.end(), {"\r\nContent-Length: ", length});
  }
  parts.push_back("\r\n\r\n");
  size_t size = 0;
  for (std::string_view part : parts) size += part.size();
  LOCUS_ASSIGN_OR_RETURN(SecretBytes head, SecretBytes::Allocate(size));
  char* out = head.data();
  for (std::string_view part : parts) {
    CopySecret(part.data(), out, part.size());
    out += part.size();
  }
  return head;
}

// Stream: tcp::socket, or TLS over it.
template <typename Stream>
class StreamConnection : public HttpConnection {
 public:
  template <typename... Arguments>
  explicit StreamConnection(const Endpoint& endpoint, Arguments&... arguments)
      : endpoint_(endpoint),
        stream_(io_, arguments...),
        buffer_(kLongestBuffer),
        piece_(kLongestPiece) {}
  ~StreamConnection() override { Break(); }

  absl::Status Connect(TimePoint deadline) {
    LOCUS_ASSIGN_OR_RETURN(std::vector<std::string> addresses,
                           internal::Resolve(endpoint_.host, deadline));
    error_code error = asio::error::host_not_found;
    for (size_t i = 0; i < addresses.size(); ++i) {
      // Each address gets a share of the time, so that one without an answer does not use it all.
      auto left = deadline - std::chrono::steady_clock::now();
      auto share = left / static_cast<int64_t>(addresses.size() - i);
      error = ConnectTo(addresses[i], std::chrono::steady_clock::now() + share);
      if (!error) return absl::OkStatus();
    }
    return Failed(error);
  }

  absl::Status Handshake(TimePoint deadline);

  absl::Status Begin(const HttpRequest& request, TimePoint deadline) override {
    LOCUS_CHECK(!under_way_);
    LOCUS_ASSIGN_OR_RETURN(SecretBytes head, HeadOf(request, endpoint_));
    std::array<asio::const_buffer, 2> text = {
        asio::const_buffer(head.data(), head.size()),
        asio::const_buffer(request.body.data(), request.body.size())};
    expects_body_ = request.method != "HEAD";
    ExpectHead();
    kept_.clear();
    error_code error = Run(deadline, [&](auto done) {
      asio::async_write(stream_, text, [done](error_code e, size_t) { done(e); });
    });
    return error ? Failed(error) : absl::OkStatus();
  }

  absl::StatusOr<HttpAnswer> ReadHead(TimePoint deadline) override {
    for (int late = 0;;) {
      absl::Status read = Read(deadline, [&](auto done) {
        message::async_read_header(stream_, buffer_, *parser_,
                                   [done](error_code e, size_t) { done(e); });
      });
      if (!read.ok()) return WithTlsAdvice(std::move(read));
      answered_ = true;
      unsigned status = parser_->get().result_int();
      bool goes_on = status >= 100 && status <= 199 && status != 101;
      if (!goes_on) break;
      ExpectHead();  // an interim answer: the final one follows
      if (std::chrono::steady_clock::now() >= deadline && ++late > kLatePieces) {
        return absl::DeadlineExceededError("no answer in time");
      }
    }
    HttpAnswer answer;
    answer.status = parser_->get().result_int();
    for (const auto& field : parser_->get()) {
      answer.headers.emplace_back(field.name_string(), field.value());
    }
    return answer;
  }

  bool StillOpen() override {
    bool answered = !parser_ || (parser_->is_done() && parser_->keep_alive() &&
                                 parser_->get().result_int() != 101);
    if (broken_ || under_way_ || !answered || buffer_.size() != 0) return false;
    char byte;
    ssize_t got = recv(socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

  void Interrupt() override {
    interrupted_ = true;
    asio::post(io_, [] {});
  }

 protected:
  absl::StatusOr<std::string> ReadPiece(TimePoint deadline) override {
    while (under_way_ || !parser_->is_done()) {
      LOCUS_RETURN_IF_ERROR(Read(deadline, [&](auto done) {
        parser_->get().body().data = piece_.data();
        parser_->get().body().size = piece_.size();
        message::async_read_some(stream_, buffer_, *parser_, [done](error_code e, size_t) {
          done(e == message::error::need_buffer ? error_code() : e);
        });
      }));
      size_t got = piece_.size() - parser_->get().body().size;
      if (got > 0) return std::string(piece_.data(), got);
    }
    return std::string();
  }

  std::optional<uint64_t> BodyLength() const override {
    if (parser_->is_done()) return 0;
    auto length = parser_->content_length();
    if (!length) return std::nullopt;
    return *length;
  }

 private:
  auto& socket() { return stream_.lowest_layer(); }

  // A server of TLS answers plain text with an alert, or closes the connection without a word, as
  // OpenSSL does.
  absl::Status WithTlsAdvice(absl::Status failed) const {
    constexpr std::string_view kAlert = "\x15\x03";  // a record's type, and its major version
    if (!std::is_same_v<Stream, tcp::socket> || answered_ || under_way_) return failed;
    const asio::const_buffer got = buffer_.data();
    const std::string_view bytes(static_cast<const char*>(got.data()), got.size());
    if (bytes.starts_with(kAlert)) {
      return absl::Status(failed.code(),
                          "the server speaks TLS at this port: enable TLS (of a URI: ?tls=on)");
    }
    if (!bytes.empty() || result_ != message::error::end_of_stream) return failed;
    return absl::Status(failed.code(),
                        "connection closed before any answer; if this port speaks TLS, enable TLS "
                        "(of a URI: ?tls=on)");
  }

  void ExpectHead() {
    parser_.emplace();
    parser_->body_limit(boost::none);
    parser_->header_limit(kLongestHead);
    parser_->skip(!expects_body_);
  }

  enum class Waited { kDone, kInterrupted, kTooLong };

  // Waits for the operation under way, which continues after a timeout or an interrupt.
  Waited Wait(TimePoint deadline, bool interruptible) {
    for (;;) {
      if (!under_way_) return Waited::kDone;
      if (interruptible && interrupted_.exchange(false)) return Waited::kInterrupted;
      io_.restart();
      if (io_.poll_one() > 0) continue;  // data that has arrived counts, also after the deadline
      if (std::chrono::steady_clock::now() >= deadline) return Waited::kTooLong;
      io_.run_one_until(deadline);
    }
  }

  template <typename Start>
  void Launch(const Start& start) {
    under_way_ = true;
    start([this](error_code error) {
      result_ = error;
      under_way_ = false;
    });
  }

  // Starts an operation and runs it until it calls its argument; cancelled at the deadline.
  template <typename Start>
  error_code Run(TimePoint deadline, const Start& start) {
    Launch(start);
    if (Wait(deadline, false) != Waited::kDone) {
      Break();
      return asio::error::timed_out;
    }
    return result_;
  }

  // The same, but without cancelling: the next call continues the operation.
  template <typename Start>
  absl::Status Read(TimePoint deadline, const Start& start) {
    if (broken_) return absl::UnavailableError("connection closed");
    if (!under_way_) Launch(start);
    switch (Wait(deadline, !ignore_interrupts_)) {
      case Waited::kInterrupted:
        return absl::CancelledError("interrupted");
      case Waited::kTooLong:
        return absl::DeadlineExceededError("no answer in time");
      case Waited::kDone:
        break;
    }
    if (!result_) return absl::OkStatus();
    absl::Status failed = Failed(result_);
    Break();
    return failed;
  }

  void Break() {
    broken_ = true;
    error_code ignored;
    socket().close(ignored);
    while (under_way_) {
      io_.restart();
      io_.run_one();
    }
  }

  error_code ConnectTo(const std::string& address, TimePoint deadline) {
    error_code error;
    tcp::endpoint to(asio::ip::make_address(address, error), endpoint_.port);
    if (error) return error;
    socket().close(error);
    // SOCK_CLOEXEC: a socket opened by Asio would be inherited by programs that this process
    // starts.
    int fd = ::socket(to.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return error_code(errno, boost::system::system_category());
    socket().assign(to.protocol(), fd, error);
    if (error) {
      close(fd);
      return error;
    }
    broken_ = false;
    error = Run(deadline,
                [&](auto done) { socket().async_connect(to, [done](error_code e) { done(e); }); });
    if (!error) {
      error_code ignored;
      socket().set_option(tcp::no_delay(true), ignored);
    }
    return error;
  }

  const Endpoint endpoint_;
  asio::io_context io_{1};
  Stream stream_;
  beast::flat_buffer buffer_;
  std::vector<char> piece_;
  std::optional<message::response_parser<message::buffer_body>> parser_;
  bool expects_body_ = true;  // the request was not for a head only
  bool answered_ = false;     // a head was received: the server speaks HTTP here
  bool under_way_ = false;    // an operation was started, and has not called back
  error_code result_;         // of the last one that has
  bool broken_ = false;
  std::atomic<bool> interrupted_{false};
};

using PlainConnection = StreamConnection<tcp::socket>;
// Not Beast's own stream, which keeps a copy of the bytes it sends, passwords among them.
using TlsConnection = StreamConnection<asio::ssl::stream<tcp::socket>>;

template <>
absl::Status TlsConnection::Handshake(TimePoint deadline) {
  error_code error;
  bool is_address = (asio::ip::make_address(endpoint_.host, error), !error);
  if (!is_address) SSL_set_tlsext_host_name(stream_.native_handle(), endpoint_.host.c_str());
  stream_.set_verify_callback(asio::ssl::host_name_verification(endpoint_.host), error);
  if (error) return Failed(error);
  error = Run(deadline, [&](auto done) {
    stream_.async_handshake(asio::ssl::stream_base::client, [done](error_code e) { done(e); });
  });
  if (!error) return absl::OkStatus();
  if (error.category() != asio::error::get_ssl_category()) return Failed(error);
  const auto code = static_cast<unsigned long>(error.value());
  if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER) {
    return absl::FailedPreconditionError(
        "TLS failed: the server seems to speak plain text at this port");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "TLS failed: ", WhyHandshakeFailed(stream_.native_handle(), error),
      "; the certificate must name the endpoint's host and be signed by one of the authorities"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpConnection>> HttpConnection::Connect(const Endpoint& endpoint,
                                                                        const TlsContext* tls,
                                                                        TimePoint deadline) {
  try {
    if (tls == nullptr) {
      auto connection = std::make_unique<PlainConnection>(endpoint);
      LOCUS_RETURN_IF_ERROR(connection->Connect(deadline));
      return connection;
    }
    auto connection = std::make_unique<TlsConnection>(endpoint, tls->rep().context);
    LOCUS_RETURN_IF_ERROR(connection->Connect(deadline));
    LOCUS_RETURN_IF_ERROR(connection->Handshake(deadline));
    return connection;
  } catch (const boost::system::system_error& error) {  // out of descriptors
    return absl::UnavailableError(error.what());
  }
}

absl::StatusOr<HttpAnswer> HttpConnection::Send(const HttpRequest& request, size_t max_body,
                                                TimePoint deadline) {
  LOCUS_RETURN_IF_ERROR(Begin(request, deadline));
  ignore_interrupts_ = true;
  absl::StatusOr<HttpAnswer> answer = ReadHead(deadline);
  if (answer.ok()) {
    absl::StatusOr<std::string> body = ReadBody(max_body, deadline);
    if (body.ok()) {
      answer->body = *std::move(body);
    } else {
      answer = std::move(body).status();
    }
  }
  ignore_interrupts_ = false;
  if (!absl::IsDeadlineExceeded(answer.status())) return answer;
  return absl::UnavailableError(answer.status().message());
}

absl::StatusOr<std::string> HttpConnection::ReadSome(TimePoint deadline) {
  if (kept_.empty()) return ReadPiece(deadline);
  searched_ = 0;
  return std::exchange(kept_, std::string());
}

absl::StatusOr<std::optional<std::string>> HttpConnection::ReadLine(size_t longest,
                                                                    TimePoint deadline) {
  bool ended = false;
  for (;;) {
    size_t end = kept_.find('\n', searched_);
    searched_ = kept_.size();
    if (end == std::string::npos && ended) end = kept_.size();
    if (std::min(end, kept_.size()) > longest) {
      return TooLong(absl::StrCat("a line of more than ", longest, " bytes"), longest);
    }
    if (end != std::string::npos) {
      if (kept_.empty()) return std::nullopt;
      std::string line = kept_.substr(0, end);
      kept_.erase(0, end + 1);
      searched_ = 0;
      return line;
    }
    LOCUS_ASSIGN_OR_RETURN(std::string piece, ReadPiece(deadline));
    ended = piece.empty();
    kept_ += piece;
  }
}

absl::StatusOr<std::string> HttpConnection::ReadBody(size_t max_body, TimePoint deadline) {
  searched_ = 0;
  if (auto length = BodyLength(); length && *length > max_body) {
    return TooLong(absl::StrCat("a body of ", *length, " bytes"), max_body);
  }
  for (int late = 0;;) {
    if (kept_.size() > max_body) {
      return TooLong(absl::StrCat("a body of more than ", max_body, " bytes"), max_body);
    }
    if (std::chrono::steady_clock::now() >= deadline && ++late > kLatePieces) {
      return absl::DeadlineExceededError("no complete answer in time");
    }
    LOCUS_ASSIGN_OR_RETURN(std::string piece, ReadPiece(deadline));
    if (piece.empty()) return std::exchange(kept_, std::string());
    kept_ += piece;
  }
}

std::string_view HttpAnswer::Header(std::string_view name) const {
  for (const auto& [known, value] : headers) {
    if (absl::EqualsIgnoreCase(known, ToAbsl(name))) return value;
  }
  return {};
}

}  // namespace locus::http
