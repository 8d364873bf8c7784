// SPDX-License-Identifier: Apache-2.0
#include "src/raft/tcp/tcp_transport.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"
#include "src/base/os/resolve.h"
#include "src/base/run/mutex.h"
#include "src/http/endpoint.h"
#include "src/http/tls_context_rep.h"
#include "src/raft/tcp/callers.h"
#include "src/raft/tcp/calls.h"
#include "src/raft/tcp/framed_wire.h"

namespace locus::raft {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using http::Endpoint;
using internal::MutexLock;

class TcpTransport::Rep {
 public:
  Rep(TcpOptions options, std::unique_ptr<http::TlsContext> tls)
      : options_(std::move(options)), tls_(std::move(tls)) {}
  ~Rep() { Stop(); }

  absl::Status Listen(const tcp::endpoint& at) { return callers_.Listen(at); }

  absl::Status Start(Receive receive) {
    callers_.Start(std::move(receive));
    try {
      thread_ = std::thread([this] { io_.run(); });
    } catch (const std::system_error& error) {
      return absl::UnavailableError(std::string("a thread of the transport: ") + error.what());
    }
    return absl::OkStatus();
  }

  void Stop() {
    MutexLock lock(stop_mutex_);
    if (!thread_.joinable()) return;
    io_.stop();
    thread_.join();
  }

  void Send(NodeId to, std::string address, Message message) {
    asio::post(io_, [this, to, address = std::move(address), message = std::move(message)] {
      calls_.Send(to, address, message);
    });
  }

  void NoteMembers(const Members& members) {
    std::set<NodeId> ids;
    for (const Member& member : members) ids.insert(member.id);
    asio::post(io_, [this, members, ids = std::move(ids)] {
      calls_.set_members(ids);
      callers_.set_members(members);
    });
  }

  std::vector<Link> Links() { return calls_.Links(); }

 private:
  asio::ssl::context* tls() { return tls_ == nullptr ? nullptr : &tls_->rep().context; }

  const TcpOptions options_;
  const std::unique_ptr<http::TlsContext> tls_;
  asio::io_context io_{1};
  Calls calls_{io_, options_, tls()};
  Callers callers_{io_, options_, tls(), [this](NodeId from, const std::string& address) {
                     calls_.Learn(from, address);
                   }};
  internal::Mutex stop_mutex_;  // of the thread's end
  std::thread thread_;
};

TcpTransport::TcpTransport(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
TcpTransport::~TcpTransport() = default;
absl::Status TcpTransport::Start(Receive receive) { return rep_->Start(std::move(receive)); }
void TcpTransport::Stop() { rep_->Stop(); }
std::vector<TcpTransport::Link> TcpTransport::Links() { return rep_->Links(); }
void TcpTransport::Send(NodeId to, const std::string& address, Message message) {
  rep_->Send(to, address, std::move(message));
}
void TcpTransport::NoteMembers(const Members& members) { rep_->NoteMembers(members); }

absl::StatusOr<std::unique_ptr<TcpTransport>> TcpTransport::Create(TcpOptions options) {
  LOCUS_ASSIGN_OR_RETURN(const Endpoint listen, Endpoint::Parse(options.listen));
  if (options.advertise.empty()) options.advertise = options.listen;
  LOCUS_RETURN_IF_ERROR(Endpoint::Parse(options.advertise).status());
  if (options.self == 0) return absl::InvalidArgumentError("a node has an ID other than 0");
  if (options.cluster.empty() || options.cluster.size() > kMostClusterBytes ||
      options.advertise.size() > kMostAddressBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a cluster's name has 1 to ", kMostClusterBytes,
                                                   " bytes, an address at most ",
                                                   kMostAddressBytes));
  }
  std::unique_ptr<http::TlsContext> tls;
  if (options.tls) {
    const http::TlsFiles& files = *options.tls;
    if (files.ca_file.empty() || files.certificate_file.empty() || files.key_file.empty()) {
      return absl::FailedPreconditionError(
          "TLS between nodes takes three files: the authority, a certificate and its key");
    }
    LOCUS_ASSIGN_OR_RETURN(tls, http::TlsContext::Load(files));
  } else if (!internal::IsLoopback(listen.host)) {
    return absl::FailedPreconditionError(
        absl::StrCat("a node listens on ", options.listen, ", beyond loopback, with TLS only"));
  }
  LOCUS_ASSIGN_OR_RETURN(
      const auto addresses,
      internal::Resolve(listen.host, std::chrono::steady_clock::now() + std::chrono::seconds(5)));
  error_code error;
  const auto address = asio::ip::make_address(addresses.front(), error);
  if (error) return Broken(options.listen, error);
  auto rep = std::make_unique<Rep>(std::move(options), std::move(tls));
  LOCUS_RETURN_IF_ERROR(rep->Listen({address, listen.port}));
  return std::unique_ptr<TcpTransport>(new TcpTransport(std::move(rep)));
}

}  // namespace locus::raft
