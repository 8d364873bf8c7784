// SPDX-License-Identifier: Apache-2.0
#include "src/raft/tcp/wire.h"

#include <netinet/tcp.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <boost/asio/write.hpp>

#include "src/http/tls_context_rep.h"

namespace locus::raft {
namespace {

namespace asio = boost::asio;

// Bytes that the other machine does not confirm for so long end the connection; the system alone
// would repeat them for a quarter of an hour, ever more seldom.
constexpr unsigned kUnconfirmedMs = 3000;

}  // namespace

Wire::Wire(asio::ip::tcp::socket socket, asio::ssl::context* tls)
    : socket_(std::move(socket)), watchdog_(socket_.get_executor()) {
  if (tls != nullptr) tls_.emplace(socket_, *tls);
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnconfirmedMs,
             sizeof kUnconfirmedMs);
}

Wire::awaitable<Wire::error_code> Wire::Handshake(const std::string& host) {
  if (!tls_) co_return error_code();
  error_code error;
  tls_->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert, error);
  if (error) co_return error;
  auto role = asio::ssl::stream_base::server;
  if (!host.empty()) {
    role = asio::ssl::stream_base::client;
    tls_->set_verify_callback(asio::ssl::host_name_verification(host), error);
    if (error) co_return error;
  }
  auto [failed] = co_await tls_->async_handshake(role, kAwait);
  co_return failed;
}

std::string Wire::Why(const error_code& failed) {
  return tls_ ? http::WhyHandshakeFailed(tls_->native_handle(), failed) : failed.message();
}

bool Wire::PeerIs(const std::string& host) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      SSL_get1_peer_certificate(tls_->native_handle()), &X509_free);
  if (certificate == nullptr) return false;
  error_code no_address;
  asio::ip::make_address(host, no_address);
  return no_address ? X509_check_host(certificate.get(), host.data(), host.size(), 0, nullptr) == 1
                    : X509_check_ip_asc(certificate.get(), host.c_str(), 0) == 1;
}

Wire::awaitable<Wire::error_code> Wire::ReadSome(char* to, size_t most, size_t& read) {
  const auto buffer = asio::buffer(to, most);
  if (tls_) {
    auto [error, size] = co_await tls_->async_read_some(buffer, kAwait);
    read = size;
    co_return error;
  }
  auto [error, size] = co_await socket_.async_read_some(buffer, kAwait);
  read = size;
  co_return error;
}

Wire::awaitable<Wire::error_code> Wire::Write(std::string_view bytes) {
  const auto buffer = asio::buffer(bytes.data(), bytes.size());
  if (tls_) {
    auto [error, size] = co_await asio::async_write(*tls_, buffer, kAwait);
    co_return error;
  }
  auto [error, size] = co_await asio::async_write(socket_, buffer, kAwait);
  co_return error;
}

void Wire::Arm(std::chrono::steady_clock::duration after) {
  watchdog_.expires_after(after);
  watchdog_.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (!error && self != nullptr) self->Close();
  });
}

void Wire::Close() {
  closed_ = true;
  error_code ignored;
  socket_.close(ignored);
  watchdog_.cancel();
}

}  // namespace locus::raft
