// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_CLIENT_H_
#define LOCUS_SRC_ENGINE_REDIS_CLIENT_H_

#include <atomic>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/os/fork_guard.h"
#include "src/engine/redis/servers.h"

namespace locus::redis {

// A Lua script of one key.
class Script {
 public:
  explicit Script(std::string text);
  const std::string& text() const { return text_; }
  const std::string& sha() const { return sha_; }  // of its text, as EVALSHA names it

 private:
  std::string text_;
  std::string sha_;
};

struct ScriptCall {
  std::string_view key;
  std::span<const std::string_view> args;
};

// Runs scripts where their keys are.
// Thread safety, blocking, errors: as in locus/engine/redis.h. Forked children:
// FAILED_PRECONDITION.
class Client {
 public:
  static absl::StatusOr<std::unique_ptr<Client>> Open(const RedisOptions& options);

  // Runs all of `calls` at once, in one round trip to each server. An answer is an array of a word
  // and then texts or nils (IsScriptAnswer); error replies become a Status.
  std::vector<absl::StatusOr<Reply>> RunEach(const Script& script,
                                             std::span<const ScriptCall> calls);
  absl::StatusOr<Reply> Run(const Script& script, std::string_view key,
                            std::initializer_list<std::string_view> args);

  // Whether it is one server, not a cluster or what sentinels name.
  bool is_one() const { return servers_->is_one(); }
  // The time limit of a call.
  absl::Duration timeout() const { return servers_->options().timeout; }
  bool forked() const { return process_.forked(); }
  // For messages: "redis 127.0.0.1:6379", from the options; with the database unless it is 0.
  const std::string& place() const { return place_; }
  RedisStats Stats() const;

 private:
  class Round;
  explicit Client(std::unique_ptr<Servers> servers);

  const std::unique_ptr<Servers> servers_;
  const std::string place_;
  const internal::ForkGuard process_;
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> failures_{0};
  std::atomic<uint64_t> redirects_{0};
  std::atomic<uint64_t> reloads_{0};
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_CLIENT_H_
