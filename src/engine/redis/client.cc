// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/client.h"

#include <openssl/evp.h>

#include <list>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/redis/answers.h"
#include "src/engine/redis/errors.h"
#include "src/engine/redis/number_script.h"

namespace locus::redis {

using internal::HexOf;

namespace {

constexpr int kMostRounds = 8;  // of redirections, script loads and connections found broken

std::string Sha1(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  LOCUS_CHECK(EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr) == 1);
  return HexOf({reinterpret_cast<char*>(digest), size});
}

std::string PlaceOf(const RedisOptions& options) {
  std::string place = "redis ";
  for (const Address& address : options.addresses) {
    absl::StrAppend(&place, &address == &options.addresses[0] ? "" : ",", ToString(address));
  }
  if (!options.master_name.empty()) absl::StrAppend(&place, "/", options.master_name);
  if (options.database != 0) absl::StrAppend(&place, "/", options.database);
  return place;
}

}  // namespace

Script::Script(std::string text) : text_(std::move(text)), sha_(Sha1(text_)) {}

// One call of RunEach: its calls go to their servers in rounds until each has an answer.
class Client::Round {
 public:
  Round(Client& client, const Script& script, std::span<const ScriptCall> calls, Deadline deadline)
      : client_(client), script_(script), calls_(calls), deadline_(deadline) {
    results_.resize(calls.size(), absl::StatusOr<Reply>(absl::UnavailableError("")));
    for (size_t i = 0; i < calls.size(); ++i) open_.push_back({i, false, std::nullopt});
  }

  std::vector<absl::StatusOr<Reply>> Run() {
    for (int round = 0; round < kMostRounds && !open_.empty(); ++round) {
      std::vector<Item> items = std::exchange(open_, {});
      for (Item& item : items) Assign(item);
      for (Group& group : groups_) {
        client_.calls_.fetch_add(group.items.size(), std::memory_order_relaxed);
        group.connection->Start(group.exchange, group.commands, group.replies, deadline_);
      }
      for (Group& group : groups_) Finish(group);
      groups_.clear();
    }
    for (const Item& item : open_) {
      Fail(item, absl::UnavailableError(absl::StrCat("redis redirected one key ", kMostRounds,
                                                     " times: the nodes of the cluster disagree")));
    }
    return std::move(results_);
  }

 private:
  struct Item {
    size_t call;
    bool whole;                  // send the script's text, not its digest
    std::optional<Address> ask;  // the server to ask for this one attempt
  };
  struct Group {
    SharedConnection connection;
    std::string commands;
    size_t replies = 0;
    std::vector<Item> items;
    Connection::Exchange exchange;
  };

  void Assign(Item& item) {
    const ScriptCall& call = calls_[item.call];
    absl::StatusOr<SharedConnection> connection =
        item.ask ? client_.servers_->At(*item.ask, deadline_)
                 : client_.servers_->ForKey(call.key, deadline_);
    if (!connection.ok()) {
      client_.servers_->Failed();
      return Fail(item, connection.status());
    }
    Group& group = GroupOf(*connection);
    std::string& out = group.commands;
    if (item.ask) {
      AppendHead(out, 1);
      AppendWord(out, "ASKING");
      ++group.replies;
    }
    AppendHead(out, 4 + call.args.size());
    AppendWord(out, item.whole ? "EVAL" : "EVALSHA");
    AppendWord(out, item.whole ? script_.text() : script_.sha());
    AppendWord(out, "1");
    AppendWord(out, call.key);
    for (std::string_view arg : call.args) AppendWord(out, arg);
    ++group.replies;
    group.items.push_back(std::move(item));
  }

  Group& GroupOf(const SharedConnection& connection) {
    for (Group& group : groups_) {
      if (group.connection == connection) return group;
    }
    groups_.emplace_back();
    groups_.back().connection = connection;
    return groups_.back();
  }

  void Finish(Group& group) {
    absl::Status status = group.connection->Finish(group.exchange);
    if (!status.ok()) {
      client_.servers_->Failed();
      for (Item& item : group.items) {
        if (group.exchange.sent) {
          Fail(item, status);
        } else {
          open_.push_back(std::move(item));  // the server has seen nothing of it: try again
        }
      }
      return;
    }
    size_t next = 0;
    for (Item& item : group.items) {
      if (item.ask) ++next;
      Settle(item, group.exchange.replies[next++], *group.connection);
    }
  }

  void Settle(Item& item, Reply& reply, Connection& connection) {
    if (reply.kind != Reply::Kind::kError) {
      if (!IsScriptAnswer(reply)) {
        return Fail(item, absl::FailedPreconditionError(absl::StrCat(
                              "redis ", ToString(connection.address()),
                              " sent an answer that no script of locus returns: is it Redis?")));
      }
      results_[item.call] = std::move(reply);
      return;
    }
    if (reply.IsError("NOSCRIPT")) {
      client_.reloads_.fetch_add(1, std::memory_order_relaxed);
      open_.push_back({item.call, true, item.ask});
      return;
    }
    if (auto redirect = ParseRedirect(reply, connection.address())) {
      client_.redirects_.fetch_add(1, std::memory_order_relaxed);
      if (!redirect->ask) client_.servers_->Moved(redirect->slot, redirect->to);
      open_.push_back({item.call, item.whole, std::nullopt});
      if (redirect->ask) open_.back().ask = redirect->to;
      return;
    }
    absl::Status status = StatusOf(reply, connection.address());
    if (ShowsNoMaster(reply)) {
      connection.Abandon(status);
      client_.servers_->Failed();
    }
    Fail(item, status);
  }

  void Fail(const Item& item, absl::Status status) {
    client_.failures_.fetch_add(1, std::memory_order_relaxed);
    results_[item.call] = std::move(status);
  }

  Client& client_;
  const Script& script_;
  const std::span<const ScriptCall> calls_;
  const Deadline deadline_;
  std::vector<absl::StatusOr<Reply>> results_;
  std::vector<Item> open_;
  std::list<Group> groups_;  // an Exchange stays where it is
};

Client::Client(std::unique_ptr<Servers> servers)
    : servers_(std::move(servers)), place_(PlaceOf(servers_->options())) {}

absl::StatusOr<std::unique_ptr<Client>> Client::Open(const RedisOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Servers> servers, Servers::Open(options));
  return std::unique_ptr<Client>(new Client(std::move(servers)));
}

std::vector<absl::StatusOr<Reply>> Client::RunEach(const Script& script,
                                                   std::span<const ScriptCall> calls) {
  if (forked()) {
    return std::vector<absl::StatusOr<Reply>>(
        calls.size(), internal::ForkGuard::Refusal(absl::StrCat("the client of ", place_)));
  }
  Deadline deadline =
      std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(servers_->options().timeout);
  return Round(*this, script, calls, deadline).Run();
}

absl::StatusOr<Reply> Client::Run(const Script& script, std::string_view key,
                                  std::initializer_list<std::string_view> args) {
  ScriptCall call{key, {args.begin(), args.size()}};
  return std::move(RunEach(script, {&call, 1})[0]);
}

RedisStats Client::Stats() const {
  RedisStats stats;
  stats.calls = calls_.load(std::memory_order_relaxed);
  stats.connects = servers_->connects();
  stats.failures = failures_.load(std::memory_order_relaxed);
  stats.redirects = redirects_.load(std::memory_order_relaxed);
  stats.reloads = reloads_.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace locus::redis
