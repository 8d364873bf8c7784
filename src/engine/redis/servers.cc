// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/servers.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/redis/errors.h"

namespace locus::redis {

using internal::MutexLock;
using internal::Quoted;

namespace {

Deadline Now() { return std::chrono::steady_clock::now(); }

// CRC-16/XMODEM, the hash of Redis clusters.
uint16_t Crc16(std::string_view text) {
  uint32_t crc = 0;
  for (char c : text) {
    crc ^= static_cast<uint32_t>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
    }
    crc &= 0xFFFF;
  }
  return static_cast<uint16_t>(crc);
}

// Nodes that redirections have named. Beyond this many, nodes that serve no slot are forgotten, so
// a server that redirects to ever new addresses cannot grow the list without end.
constexpr size_t kMostIdleNodes = 1024;

absl::StatusOr<std::vector<Reply>> Ask(Connection& connection, const std::string& commands,
                                       size_t replies, Deadline deadline) {
  Connection::Exchange exchange;
  connection.Start(exchange, commands, replies, deadline);
  LOCUS_RETURN_IF_ERROR(connection.Finish(exchange));
  for (const Reply& reply : exchange.replies) {
    LOCUS_RETURN_IF_ERROR(StatusOf(reply, connection.address()));
  }
  return std::move(exchange.replies);
}

absl::Status CheckMaster(const Connection& connection) {
  if (connection.server().master) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "redis ", ToString(connection.address()), " is a replica: give the master or its sentinels"));
}

}  // namespace

uint16_t SlotOf(std::string_view key) {
  size_t open = key.find('{');
  if (open != key.npos) {
    size_t close = key.find('}', open + 1);
    if (close != key.npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  return Crc16(key) % kSlots;
}

absl::Status SingleFlight::Do(const std::function<absl::Status()>& work, Deadline deadline) {
  {
    MutexLock lock(mutex_);
    uint64_t flight = flights_;
    while (under_way_) {
      if (Now() >= deadline) return absl::UnavailableError("no connection to redis in time");
      landed_.WaitUntil(mutex_, deadline);
      if (flights_ != flight) return outcome_;
    }
    under_way_ = true;
  }
  absl::Status outcome = work();
  MutexLock lock(mutex_);
  under_way_ = false;
  ++flights_;
  outcome_ = outcome;
  landed_.NotifyAll();
  return outcome;
}

SharedConnection Node::Current() {
  MutexLock lock(mutex_);
  return connection_;
}

void Node::Put(SharedConnection connection) {
  MutexLock lock(mutex_);
  connection_ = std::move(connection);
}

absl::StatusOr<SharedConnection> Node::Get(Deadline deadline) {
  SharedConnection current = Current();
  if (current != nullptr && current->Usable()) return current;
  auto connect = [&]() -> absl::Status {
    SharedConnection made_meanwhile = Current();
    if (made_meanwhile != current && made_meanwhile->Usable()) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(SharedConnection made, connect_(deadline));
    Put(std::move(made));
    return absl::OkStatus();
  };
  LOCUS_RETURN_IF_ERROR(flight_.Do(connect, deadline));
  return Current();
}

Servers::Servers(const RedisOptions& options) : options_(options) {
  // The credentials hold the passwords from here on.
  for (std::string* secret : {&options_.password, &options_.sentinel_password}) {
    OPENSSL_cleanse(secret->data(), secret->size());
    secret->clear();
  }
}

absl::StatusOr<std::unique_ptr<Servers>> Servers::Open(const RedisOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  std::unique_ptr<Servers> servers(new Servers(options));
  LOCUS_RETURN_IF_ERROR(servers->TakeSecrets(options));
  LOCUS_RETURN_IF_ERROR(servers->Begin(Now() + absl::ToChronoNanoseconds(options.timeout)));
  return servers;
}

absl::Status Servers::TakeSecrets(const RedisOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(credentials_, Credentials::Make(options.user, options.password));
  LOCUS_ASSIGN_OR_RETURN(sentinel_credentials_,
                         Credentials::Make(options.sentinel_user, options.sentinel_password));
  return absl::OkStatus();
}

absl::Status Servers::Begin(Deadline deadline) {
  if (!options_.master_name.empty()) {
    single_ = std::make_unique<Node>([this](Deadline by) { return ConnectBySentinels(by); });
    return single_->Get(deadline).status();
  }
  absl::Status status;
  for (const Address& address : options_.addresses) {
    absl::StatusOr<SharedConnection> connection = Connect(address, deadline);
    status = connection.status();
    if (!status.ok()) continue;
    if ((*connection)->server().cluster) {
      NodeAt(address)->Put(*connection);
      status = ReadSlots(**connection, deadline);
      if (status.ok()) return status;
      continue;
    }
    if (options_.addresses.size() > 1) {
      return absl::FailedPreconditionError(absl::StrCat(
          "redis ", ToString(address), " is not a node of a cluster: give one address, ",
          "or master_name if the addresses are those of sentinels"));
    }
    single_ = std::make_unique<Node>(
        [this, address](Deadline by) { return ConnectToMaster(address, by); });
    single_->Put(*connection);
    return CheckMaster(**connection);
  }
  return status;
}

absl::StatusOr<SharedConnection> Servers::Connect(const Address& address, Deadline deadline) {
  Connection::Settings settings;
  settings.credentials = &credentials_;
  settings.database = options_.database;
  settings.password_in_plain_text = options_.password_in_plain_text;
  Deadline soon = Now() + absl::ToChronoNanoseconds(options_.connect_timeout);
  auto connection = Connection::Open(address, settings, std::min(deadline, soon));
  if (connection.ok()) connects_.fetch_add(1, std::memory_order_relaxed);
  return connection;
}

absl::StatusOr<SharedConnection> Servers::ConnectToMaster(const Address& address,
                                                          Deadline deadline) {
  LOCUS_ASSIGN_OR_RETURN(SharedConnection connection, Connect(address, deadline));
  LOCUS_RETURN_IF_ERROR(CheckMaster(*connection));
  return connection;
}

absl::StatusOr<SharedConnection> Servers::ConnectBySentinels(Deadline deadline) {
  SharedConnection found;
  LOCUS_RETURN_IF_ERROR(
      TryInTurn(options_.addresses, deadline, [&](const Address& sentinel) -> absl::Status {
        LOCUS_ASSIGN_OR_RETURN(const Address master, AskSentinel(sentinel, deadline));
        LOCUS_ASSIGN_OR_RETURN(SharedConnection connection, Connect(master, deadline));
        if (!connection->server().master) {
          return absl::UnavailableError(
              absl::StrCat("redis ", ToString(master), ", which sentinel ", ToString(sentinel),
                           " names as ", options_.master_name, ", is not a master now"));
        }
        found = std::move(connection);
        return absl::OkStatus();
      }));
  return found;
}

absl::Status Servers::TryInTurn(const std::vector<Address>& addresses, Deadline deadline,
                                const std::function<absl::Status(const Address&)>& ask) {
  absl::Status status;
  const size_t first = turn_.load(std::memory_order_relaxed);
  for (size_t i = first; i < first + addresses.size(); ++i) {
    status = ask(addresses[i % addresses.size()]);
    if (status.ok()) break;
    turn_.store(i + 1, std::memory_order_relaxed);
    if (Now() >= deadline) break;
  }
  return status;
}

absl::StatusOr<Address> Servers::AskSentinel(const Address& sentinel, Deadline deadline) {
  Connection::Settings settings;
  settings.credentials = &sentinel_credentials_;
  settings.password_in_plain_text = options_.password_in_plain_text;
  settings.sentinel = true;
  Deadline soon = std::min(deadline, Now() + absl::ToChronoNanoseconds(options_.connect_timeout));
  LOCUS_ASSIGN_OR_RETURN(auto connection, Connection::Open(sentinel, settings, soon));
  std::string command;
  AppendCommand(command, std::array<std::string_view, 3>{"SENTINEL", "get-master-addr-by-name",
                                                         options_.master_name});
  LOCUS_ASSIGN_OR_RETURN(std::vector<Reply> replies, Ask(*connection, command, 1, soon));
  if (auto master = ReadMasterAddress(replies[0])) return *std::move(master);
  return absl::FailedPreconditionError(absl::StrCat("sentinel ", ToString(sentinel),
                                                    " does not know a master named ",
                                                    Quoted(options_.master_name)));
}

std::shared_ptr<Node> Servers::NodeAt(const Address& address) {
  MutexLock lock(mutex_);
  if (nodes_.size() >= kMostIdleNodes) {
    std::erase_if(nodes_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  std::shared_ptr<Node>& node = nodes_[ToString(address)];
  if (node == nullptr) {
    node = std::make_shared<Node>([this, address](Deadline by) { return Connect(address, by); });
  }
  return node;
}

absl::StatusOr<SharedConnection> Servers::At(const Address& address, Deadline deadline) {
  return NodeAt(address)->Get(deadline);
}

absl::StatusOr<SharedConnection> Servers::ForKey(std::string_view key, Deadline deadline) {
  if (single_ != nullptr) return single_->Get(deadline);
  if (stale_.load(std::memory_order_acquire)) {
    LOCUS_RETURN_IF_ERROR(refresh_.Do([&] { return Refresh(deadline); }, deadline));
  }
  uint16_t slot = SlotOf(key);
  std::shared_ptr<Node> node;
  {
    MutexLock lock(mutex_);
    node = slots_[slot];
  }
  if (node != nullptr) return node->Get(deadline);
  Failed();
  return absl::UnavailableError(absl::StrCat("no node of the redis cluster serves slot ", slot));
}

void Servers::Moved(uint16_t slot, const Address& to) {
  std::shared_ptr<Node> node = NodeAt(to);
  MutexLock lock(mutex_);
  if (!slots_.empty()) slots_[slot] = node;
}

void Servers::Failed() {
  if (single_ == nullptr) stale_.store(true, std::memory_order_release);
}

absl::Status Servers::Refresh(Deadline deadline) {
  if (!stale_.load(std::memory_order_acquire)) return absl::OkStatus();
  std::vector<Address> known = options_.addresses;
  {
    MutexLock lock(mutex_);
    known.insert(known.begin(), masters_.begin(), masters_.end());
  }
  return TryInTurn(known, deadline, [&](const Address& address) -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(const SharedConnection connection, At(address, deadline));
    return ReadSlots(*connection, deadline);
  });
}

absl::Status Servers::ReadSlots(Connection& connection, Deadline deadline) {
  // First: a failure from here on calls for another reading.
  stale_.store(false, std::memory_order_release);
  std::string command;
  AppendCommand(command, std::array<std::string_view, 2>{"CLUSTER", "SLOTS"});
  absl::StatusOr<std::vector<Reply>> replies = Ask(connection, command, 1, deadline);
  if (!replies.ok()) {
    Failed();
    return replies.status();
  }
  absl::StatusOr<std::vector<SlotRange>> ranges =
      redis::ReadSlots((*replies)[0], connection.address());
  if (!ranges.ok()) {
    Failed();
    return absl::Status(
        ranges.status().code(),
        absl::StrCat("redis ", ToString(connection.address()), ": ", ranges.status().message()));
  }
  std::vector<std::shared_ptr<Node>> slots(kSlots);
  std::vector<Address> masters;
  for (SlotRange& range : *ranges) {
    std::shared_ptr<Node> node = NodeAt(range.master);
    std::fill(slots.begin() + range.first, slots.begin() + range.last + 1, node);
    masters.push_back(std::move(range.master));
  }
  MutexLock lock(mutex_);
  slots_ = std::move(slots);
  masters_ = std::move(masters);
  return absl::OkStatus();
}

}  // namespace locus::redis
