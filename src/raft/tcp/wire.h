// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_TCP_WIRE_H_
#define LOCUS_SRC_RAFT_TCP_WIRE_H_

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace locus::raft {

// Errors are values.
inline constexpr auto kAwait = boost::asio::as_tuple(boost::asio::use_awaitable);

// A connection, with TLS or without, and a watchdog that closes it. One coroutine may read while
// another one writes. Shared by its coroutines.
// Thread safety: none.
class Wire : public std::enable_shared_from_this<Wire> {
 public:
  using error_code = boost::system::error_code;
  template <typename T>
  using awaitable = boost::asio::awaitable<T>;

  // `tls` nullptr: plain text.
  Wire(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls);

  // Both sides show a certificate. `host`: that the callee's must name; empty on the callee's side.
  awaitable<error_code> Handshake(const std::string& host);
  // Why a handshake failed: the flaw of the certificate, if that is the reason.
  std::string Why(const error_code& failed);
  const std::string& peer() const { return peer_; }
  void set_peer(std::string address) { peer_ = std::move(address); }
  // With TLS: whether the peer's certificate names this host.
  bool PeerIs(const std::string& host);
  // At least one byte, at most `most`.
  awaitable<error_code> ReadSome(char* to, size_t most, size_t& read);
  awaitable<error_code> Write(std::string_view bytes);

  // Closes the connection after this time, unless it is called again or disarmed before.
  void Arm(std::chrono::steady_clock::duration after);
  void Disarm() { watchdog_.cancel(); }
  void Close();
  bool closed() const { return closed_; }

 private:
  using Tls = boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>;

  boost::asio::ip::tcp::socket socket_;
  std::optional<Tls> tls_;
  boost::asio::steady_timer watchdog_;
  bool closed_ = false;
  std::string peer_;  // its address
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_TCP_WIRE_H_
