// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_REDIS_REDIS_SERVER_H_
#define LOCUS_TESTS_ENGINE_REDIS_REDIS_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "locus/engine/redis.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// A redis-server of a test, on a free port, without persistence unless asked for.
class RedisServer {
 public:
  // `arguments` of redis-server, after those that make it private.
  explicit RedisServer(std::vector<std::string> arguments = {});

  bool Start();  // (again), with what it has saved
  void KillHard() { server_->KillHard(); }
  void Stall() { server_->Stall(); }
  void Resume() { server_->Resume(); }

  uint16_t port() const { return port_; }
  RedisOptions::Address address() const { return {"127.0.0.1", port_}; }
  RedisOptions options() const;
  TemporaryDirectory& directory() { return directory_; }

  // The answer to a command as redis-cli prints it; words are separated by single spaces. Empty:
  // no answer.
  std::string Ask(const std::string& command);
  std::string AskWords(const std::vector<std::string>& words);

 private:
  TemporaryDirectory directory_;
  uint16_t port_ = FreePort();
  std::vector<std::string> arguments_;
  std::unique_ptr<PrivateServer> server_;
};

// `replica` follows `master` and has all that it has.
bool Replicate(RedisServer& master, RedisServer& replica);

// `replica` hears nothing more of its master, and stays a replica: it lags from now on.
void CutOff(RedisServer& replica);

// Sentinels that watch one master of the name `orders`.
class RedisSentinel {
 public:
  explicit RedisSentinel(const RedisServer& master, int quorum = 1,
                         const std::string& more = std::string());
  uint16_t port() const { return port_; }
  // The port of the master as it knows it.
  uint16_t MasterPort();
  void Stall() { server_->Stall(); }

 private:
  TemporaryDirectory directory_;
  uint16_t port_ = FreePort();
  std::unique_ptr<PrivateServer> server_;
};

// The answer of the process that listens on `port`, as above.
std::string AskRedis(uint16_t port, const std::vector<std::string>& words);

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_REDIS_REDIS_SERVER_H_
