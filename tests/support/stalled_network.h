// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_STALLED_NETWORK_H_
#define LOCUS_TESTS_SUPPORT_STALLED_NETWORK_H_

#include <cstdint>
#include <vector>

namespace locus {

// Name servers that do not answer: this library replaces getaddrinfo for the whole process. A
// lookup of kStalledName returns only when no StalledNames lives any more; kManyAddresses is
// 127.0.0.1 to 127.0.0.4. Other names are looked up as usual.
inline constexpr char kStalledName[] = "stalls.example";
inline constexpr char kManyAddresses[] = "many.example";
class StalledNames {
 public:
  StalledNames();
  ~StalledNames();
  StalledNames(const StalledNames&) = delete;
  StalledNames& operator=(const StalledNames&) = delete;
};

// A port of this host, at any of its addresses, where attempts to connect are not answered, as
// behind a firewall that drops them: its backlog is full.
class BlackHole {
 public:
  BlackHole();
  ~BlackHole();
  BlackHole(const BlackHole&) = delete;
  BlackHole& operator=(const BlackHole&) = delete;

  uint16_t port() const { return port_; }

 private:
  int listener_ = -1;
  uint16_t port_ = 0;
  std::vector<int> fillers_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_STALLED_NETWORK_H_
