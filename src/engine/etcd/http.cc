// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/http.h"

#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/check.h"
#include "src/private_file.h"
#include "src/text.h"

namespace locus::etcd {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// A space of 65,536 sections is shown in 1.4 MB.
constexpr uint64_t kLongestBody = 16 << 20;
constexpr size_t kLongestPem = 1 << 20;

absl::Status FileError(const std::string& path, std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("TLS file ", path, ": ", ToAbsl(why)));
}

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return FileError(path, std::strerror(errno));
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && !in.eof()) return FileError(path, "could not be read");
  return text;
}

std::string Describe(const error_code& error) {
  if (error == beast::error::timeout) return "no answer in time";
  if (error == http::error::end_of_stream || error == asio::error::eof) return "connection closed";
  return error.message();
}

}  // namespace

struct TlsContext::Rep {
  asio::ssl::context context{asio::ssl::context::tls_client};
};

TlsContext::TlsContext(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
TlsContext::~TlsContext() = default;

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::Load(const EtcdOptions::Tls& options) {
  std::unique_ptr<Rep> rep;
  try {
    rep = std::make_unique<Rep>();
  } catch (const boost::system::system_error& error) {
    return absl::UnavailableError(absl::StrCat("TLS could not be set up: ", error.what()));
  }
  error_code error;
  rep->context.set_options(asio::ssl::context::default_workarounds, error);
  SSL_CTX_set_min_proto_version(rep->context.native_handle(), TLS1_2_VERSION);
  rep->context.set_verify_mode(asio::ssl::verify_peer, error);
  if (options.ca_file.empty()) {
    rep->context.set_default_verify_paths(error);
    if (error) return FileError("of the system's authorities", error.message());
  } else {
    LOCUS_ASSIGN_OR_RETURN(std::string authorities, ReadPem(options.ca_file));
    rep->context.add_certificate_authority(asio::buffer(authorities), error);
    if (error) return FileError(options.ca_file, "holds no certificate: " + error.message());
  }
  if (!options.certificate_file.empty()) {
    LOCUS_ASSIGN_OR_RETURN(std::string chain, ReadPem(options.certificate_file));
    rep->context.use_certificate_chain(asio::buffer(chain), error);
    if (error) {
      return FileError(options.certificate_file, "holds no certificate: " + error.message());
    }
    absl::StatusOr<PrivateText> key = ReadPrivateFile(options.key_file, kLongestPem);
    if (!key.ok()) {
      return FileError(options.key_file, std::string(key.status().message()));
    }
    asio::const_buffer pem(key->view().data(), key->view().size());
    rep->context.use_private_key(pem, asio::ssl::context::pem, error);
    if (error) {
      return FileError(options.key_file, "holds no key that fits the certificate in " +
                                             options.certificate_file + ": " + error.message());
    }
  }
  ERR_clear_error();
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(rep)));
}

absl::StatusOr<Endpoint> Endpoint::Parse(std::string_view text) {
  auto refuse = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("etcd endpoint ", Quoted(text), " is not host:port"));
  };
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse();
  std::optional<uint64_t> port = ParseDecimal(text.substr(colon + 1), 65535);
  std::string_view host = text.substr(0, colon);
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  bool plain = host.find_first_of("[]/@?# \t\r\n") == std::string_view::npos &&
               (bracketed || host.find(':') == std::string_view::npos);
  if (!port || *port == 0 || host.empty() || !plain) return refuse();
  return Endpoint{std::string(host), static_cast<uint16_t>(*port), std::string(text)};
}

namespace {

// Stream: beast::tcp_stream, or TLS over it.
template <typename Stream>
class StreamConnection : public HttpConnection {
 public:
  template <typename... Arguments>
  explicit StreamConnection(const Endpoint& endpoint, Arguments&... arguments)
      : endpoint_(endpoint), stream_(io_, arguments...) {}

  absl::StatusOr<HttpAnswer> Post(const HttpRequest& request, TimePoint deadline) override {
    using Body = http::span_body<const char>;
    http::request<Body> message(http::verb::post, Text(request.path), 11);
    message.set(http::field::host, endpoint_.text);
    message.set(http::field::content_type, "application/json");
    // A member that knows no leader refuses at once, instead of waiting for one.
    message.set("Grpc-Metadata-hasleader", "true");
    if (!request.token.empty()) message.set(http::field::authorization, Text(request.token));
    message.body() = Body::value_type(request.body.data(), request.body.size());
    message.prepare_payload();

    http::response_parser<http::string_body> parser;
    parser.body_limit(kLongestBody);
    error_code result = Run(deadline, [&](auto done) {
      http::async_write(stream_, message, [&, done](error_code error, size_t) {
        if (error) return done(error);
        http::async_read(stream_, buffer_, parser,
                         [done](error_code read_error, size_t) { done(read_error); });
      });
    });
    if (result) return Failed(result);
    reusable_ = parser.get().keep_alive();
    HttpAnswer answer;
    answer.status = parser.get().result_int();
    answer.date = std::string(parser.get()[http::field::date]);
    answer.body = std::move(parser.get().body());
    return answer;
  }

  bool StillOpen() override {
    if (!reusable_ || buffer_.size() != 0) return false;
    char byte;
    ssize_t got = recv(socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

  absl::Status Connect(TimePoint deadline) {
    LOCUS_ASSIGN_OR_RETURN(std::vector<std::string> addresses, Resolve(endpoint_.host, deadline));
    error_code error = asio::error::host_not_found;
    for (size_t i = 0; i < addresses.size(); ++i) {
      // An address that does not answer leaves the others their share of the time.
      auto left = deadline - std::chrono::steady_clock::now();
      auto share = left / static_cast<int64_t>(addresses.size() - i);
      error = ConnectTo(addresses[i], std::chrono::steady_clock::now() + share);
      if (!error) return absl::OkStatus();
    }
    return Failed(error);
  }

  absl::Status Handshake(TimePoint deadline);

 private:
  static beast::string_view Text(std::string_view text) { return {text.data(), text.size()}; }
  tcp::socket& socket() { return beast::get_lowest_layer(stream_).socket(); }

  // Runs what `start` starts until it calls its argument; cut off at the deadline.
  template <typename Start>
  error_code Run(TimePoint deadline, const Start& start) {
    error_code result = asio::error::operation_aborted;
    beast::get_lowest_layer(stream_).expires_at(deadline);
    start([&result](error_code error) { result = error; });
    io_.restart();
    io_.run();
    beast::get_lowest_layer(stream_).expires_never();
    return result;
  }

  error_code ConnectTo(const std::string& address, TimePoint deadline) {
    error_code error;
    tcp::endpoint to(asio::ip::make_address(address, error), endpoint_.port);
    if (error) return error;
    socket().close(error);
    // Asio's own open() lets the socket slip into programs that this process starts.
    int fd = ::socket(to.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return error_code(errno, boost::system::system_category());
    socket().assign(to.protocol(), fd, error);
    if (error) {
      close(fd);
      return error;
    }
    error = Run(deadline, [&](auto done) {
      beast::get_lowest_layer(stream_).async_connect(to, [done](error_code e) { done(e); });
    });
    if (!error) {
      error_code ignored;
      socket().set_option(tcp::no_delay(true), ignored);
    }
    return error;
  }

  absl::Status Failed(const error_code& error) const {
    std::string text = absl::StrCat("etcd at ", endpoint_.text, ": ", Describe(error));
    // What TLS itself refuses stays refused. (A member says so of a client's certificate only in
    // answer to the first request.)
    bool refused = error.category() == asio::error::get_ssl_category();
    return refused ? absl::FailedPreconditionError(text + " (TLS)") : absl::UnavailableError(text);
  }

  const Endpoint endpoint_;
  asio::io_context io_{1};
  Stream stream_;
  beast::flat_buffer buffer_;
  bool reusable_ = true;
};

using PlainConnection = StreamConnection<beast::tcp_stream>;
// Not Beast's own stream, which keeps a copy of what it sends, passwords among it.
using TlsConnection = StreamConnection<asio::ssl::stream<beast::tcp_stream>>;

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
  long verified = SSL_get_verify_result(stream_.native_handle());
  return absl::FailedPreconditionError(absl::StrCat(
      "etcd at ", endpoint_.text, ": TLS failed: ",
      verified == X509_V_OK ? error.message() : X509_verify_cert_error_string(verified),
      "; the endpoint's host, its certificate and the authorities must agree"));
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
    return absl::UnavailableError(absl::StrCat("etcd at ", endpoint.text, ": ", error.what()));
  }
}

}  // namespace locus::etcd
