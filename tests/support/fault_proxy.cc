// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fault_proxy.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "tests/support/private_server.h"

namespace locus {
namespace {

// How soon a change of the fault is seen.
constexpr int kGlanceMs = 5;
// Of a packet, before it is cut: a MariaDB header has four bytes.
constexpr size_t kPartOfPacket = 7;

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace

FaultProxy::FaultProxy(uint16_t to) : to_(to) {
  const LoopbackListener listener = ListenOnLoopback(64);
  listener_ = listener.fd;
  port_ = listener.port;
  thread_ = std::thread([this] { Work(); });
}

FaultProxy::~FaultProxy() {
  stop_ = true;
  thread_.join();
  for (Link& link : links_) Close(link, false);
  close(listener_);
}

void FaultProxy::Close(Link& link, bool reset) {
  for (int fd : {link.client, link.server}) {
    if (fd < 0) continue;
    const linger now{1, 0};
    if (reset) setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
  }
}

void FaultProxy::Accept(Fault fault) {
  Link link;
  link.client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (link.client < 0) return;
  if (fault != Fault::kNone) ++met_;
  link.server = fault == Fault::kRefuse ? -1 : ConnectToLoopback(to_);
  if (link.server < 0) return Close(link, true);
  // Pieces are sent without waiting for acknowledgements.
  const int on = 1;
  setsockopt(link.client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(link.server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  link.dropped = fault == Fault::kDrop;
  links_.push_back(link);
}

bool FaultProxy::Pass(Link& link, bool from_client, Fault fault) {
  char buffer[16 << 10];
  const int from = from_client ? link.client : link.server;
  const int to = from_client ? link.server : link.client;
  const ssize_t size = recv(from, buffer, sizeof buffer, 0);
  if (size <= 0 && link.dropped) {
    // The other side gets no notice.
    int& gone = from_client ? link.client : link.server;
    close(gone);
    gone = -1;
    return true;
  }
  if (size <= 0) return false;
  std::string_view bytes(buffer, static_cast<size_t>(size));
  if (link.dropped) return true;
  if (link.half_shut && !from_client) return true;
  if (fault == Fault::kReset) {
    ++met_;
    SendAll(to, bytes.substr(0, std::min(bytes.size() - 1, kPartOfPacket)));
    return false;
  }
  return SendAll(to, bytes);
}

void FaultProxy::Work() {
  while (!stop_) {
    const Fault fault = fault_;
    std::vector<pollfd> polled = {{listener_, POLLIN, 0}};
    for (Link& link : links_) {
      if (fault == Fault::kDrop && !link.dropped) {
        link.dropped = true;
        ++met_;
      }
      if (fault == Fault::kHalfClose && !link.half_shut) {
        link.half_shut = true;
        shutdown(link.client, SHUT_WR);
        ++met_;
      }
      const short events = fault == Fault::kStall ? 0 : POLLIN;
      polled.push_back({link.client, events, 0});
      polled.push_back({link.server, events, 0});
    }
    poll(polled.data(), polled.size(), kGlanceMs);
    size_t i = 1;
    for (auto link = links_.begin(); link != links_.end(); i += 2) {
      bool keep = fault != Fault::kRefuse;
      if (!keep) ++met_;
      if (fault != Fault::kStall) {
        if (keep && polled[i].revents != 0) keep = Pass(*link, true, fault);
        if (keep && polled[i + 1].revents != 0) keep = Pass(*link, false, fault);
      }
      if (!keep) Close(*link, fault == Fault::kReset || fault == Fault::kRefuse);
      link = keep ? std::next(link) : links_.erase(link);
    }
    if (polled[0].revents != 0) Accept(fault);
  }
}

}  // namespace locus
