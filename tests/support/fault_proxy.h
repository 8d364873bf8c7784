// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_FAULT_PROXY_H_
#define LOCUS_TESTS_SUPPORT_FAULT_PROXY_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <thread>

namespace locus {

// A TCP proxy on a port of 127.0.0.1 before another one, and what networks do to connections.
// Thread safety: all methods may be called from any thread.
class FaultProxy {
 public:
  enum class Fault : uint8_t {
    kNone,
    // Nothing is passed on, in either direction, until the fault ends; then all of it.
    kStall,
    // Sent bytes vanish. The connections of that time stay so, and neither side gets a notice;
    // later ones are accepted, and also get nothing until the fault ends.
    kDrop,
    // The server's side of each connection is shut; what the client sends is passed on.
    kHalfClose,
    // Each connection is reset once it has passed on an odd part of a packet.
    kReset,
    // Connections are closed, and new ones at once.
    kRefuse,
  };

  explicit FaultProxy(uint16_t to);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  uint16_t port() const { return port_; }
  void set_fault(Fault fault) { fault_ = fault; }
  // Connections that a fault has met.
  int met() const { return met_; }

 private:
  struct Link {
    int client = -1, server = -1;
    bool dropped = false;    // for good
    bool half_shut = false;  // the client has the notice that the server ended
  };

  void Work();
  void Accept(Fault fault);
  // False: close the link.
  bool Pass(Link& link, bool from_client, Fault fault);
  static void Close(Link& link, bool reset);

  const uint16_t to_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<Fault> fault_ = Fault::kNone;
  std::atomic<bool> stop_ = false;
  std::atomic<int> met_ = 0;
  std::list<Link> links_;  // of the thread
  std::thread thread_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_FAULT_PROXY_H_
