// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_PEER_BOOK_H_
#define LOCUS_APPS_LOCUSD_STRICT_PEER_BOOK_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/strict/strict_news.h"

namespace locus::locusd {

// `refused` has the name of another node, the one at `address`. INVALID_ARGUMENT.
absl::Status SharedName(const StrictPeer& refused, const std::string& address);

// The other nodes of a set: who is alive, and what each one has to do. A node is heard when it
// calls or answers; the addresses of others come from the table, and from those that are heard.
// Time is an argument, of a clock that never falls.
// Thread safety: none.
class PeerBook {
 public:
  // A node that was not heard for so long counts as dead.
  static constexpr absl::Duration kAlive = absl::Seconds(4);

  // `name`, `address`: of this node, which the book leaves out.
  PeerBook(std::string name, std::string address)
      : name_(std::move(name)), address_(std::move(address)) {}

  // True: it is new, came back, or has another weight or address. INVALID_ARGUMENT: a node that is
  // alive at another address has its name; nothing changes.
  absl::StatusOr<bool> Heard(const StrictNews& news, absl::Duration now);
  // An address to ask, as the table or another node names it.
  void Rumour(const std::string& address);
  // It does not answer. Forgets the rumour.
  void Silent(const std::string& address);

  // Those that are heard of late, by name.
  std::vector<StrictPeer> Live(absl::Duration now) const;
  // Those that are alive, and addresses that are rumoured.
  std::set<std::string> AddressesToAsk(absl::Duration now) const;
  // The address of a node that was ever heard; "": none.
  std::string AddressOf(const std::string& name) const;
  // As those that are alive said last.
  std::map<uint32_t, uint64_t> Loads(absl::Duration now) const;
  // The highest that a node that is alive has named.
  uint64_t TableVersion(absl::Duration now) const;

 private:
  struct Entry {
    StrictPeer peer;
    absl::Duration heard;
    uint64_t table_version = 0;
    std::map<uint32_t, uint64_t> loads;
    bool AliveAt(absl::Duration now) const { return now - heard < kAlive; }
  };

  const std::string name_;
  const std::string address_;
  std::map<std::string, Entry> peers_;
  std::set<std::string> rumours_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_PEER_BOOK_H_
