// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/redis/redis_server.h"

#include <hiredis/hiredis.h>

#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace locus {
namespace {

std::string Printed(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      return absl::StrCat(reply.integer);
    case REDIS_REPLY_ARRAY: {
      std::string lines;
      for (size_t i = 0; i < reply.elements; ++i) {
        absl::StrAppend(&lines, i > 0 ? "\n" : "", Printed(*reply.element[i]));
      }
      return lines;
    }
    case REDIS_REPLY_NIL:
      return "(nil)";
    default:
      return std::string(reply.str, reply.len);
  }
}

}  // namespace

std::string AskRedis(uint16_t port, const std::vector<std::string>& words) {
  timeval timeout{5, 0};
  redisContext* context = redisConnectWithTimeout("127.0.0.1", port, timeout);
  if (context == nullptr) return {};
  redisReply* reply = nullptr;
  if (context->err == 0 && redisSetTimeout(context, timeout) == REDIS_OK) {
    std::vector<const char*> argv;
    std::vector<size_t> sizes;
    for (const std::string& word : words) {
      argv.push_back(word.data());
      sizes.push_back(word.size());
    }
    reply = static_cast<redisReply*>(
        redisCommandArgv(context, static_cast<int>(words.size()), argv.data(), sizes.data()));
  }
  std::string printed;
  if (reply != nullptr) {
    printed = Printed(*reply);
    freeReplyObject(reply);
  }
  redisFree(context);
  return printed;
}

RedisServer::RedisServer(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
  Start();
}

bool RedisServer::Start() {
  if (server_ == nullptr) {
    std::vector<std::string> command = {"redis-server",
                                        "--port",
                                        absl::StrCat(port_),
                                        "--bind",
                                        "127.0.0.1",
                                        "--dir",
                                        directory_.str(),
                                        "--save",
                                        "",
                                        "--enable-debug-command",
                                        "yes",
                                        "--repl-diskless-sync-delay",
                                        "0",
                                        "--repl-ping-replica-period",
                                        "1",
                                        "--cluster-node-timeout",
                                        "1000"};
    command.insert(command.end(), arguments_.begin(), arguments_.end());
    server_ = std::make_unique<PrivateServer>(std::move(command), directory_ / "redis.log");
  }
  return server_->Start([this] {
    std::string answer = AskRedis(port_, {"PING"});
    return answer == "PONG" || answer.starts_with("NOAUTH");
  });
}

RedisOptions RedisServer::options() const {
  RedisOptions options;
  options.addresses = {address()};
  options.timeout = absl::Seconds(10);
  options.connect_timeout = absl::Seconds(5);
  return options;
}

std::string RedisServer::Ask(const std::string& command) {
  return AskWords(absl::StrSplit(command, ' '));
}

std::string RedisServer::AskWords(const std::vector<std::string>& words) {
  return AskRedis(port_, words);
}

bool Replicate(RedisServer& master, RedisServer& replica) {
  replica.Ask(absl::StrCat("REPLICAOF 127.0.0.1 ", master.port()));
  return WaitUntil([&] {
    std::string info = replica.Ask("INFO replication");
    return info.find("master_link_status:up") != info.npos && master.Ask("WAIT 1 100") == "1";
  });
}

void CutOff(RedisServer& replica) {
  EXPECT_EQ(replica.Ask(absl::StrCat("REPLICAOF 127.0.0.1 ", FreePort())), "OK");
}

RedisSentinel::RedisSentinel(const RedisServer& master, int quorum, const std::string& more) {
  std::string file = directory_ / "sentinel.conf";
  std::ofstream(file) << "port " << port_ << "\nbind 127.0.0.1\ndir " << directory_.str()
                      << "\nsentinel monitor orders 127.0.0.1 " << master.port() << " " << quorum
                      << "\nsentinel down-after-milliseconds orders 500\n"
                      << "sentinel failover-timeout orders 3000\n"
                      << more;
  server_ = std::make_unique<PrivateServer>(std::vector<std::string>{"redis-sentinel", file},
                                            directory_ / "sentinel.log");
  server_->Start([this] {
    std::string answer = AskRedis(port_, {"PING"});
    return answer == "PONG" || answer.starts_with("NOAUTH");
  });
}

uint16_t RedisSentinel::MasterPort() {
  std::vector<std::string> lines =
      absl::StrSplit(AskRedis(port_, {"SENTINEL", "get-master-addr-by-name", "orders"}), '\n');
  return lines.size() == 2 ? static_cast<uint16_t>(std::atoi(lines[1].c_str())) : 0;
}

}  // namespace locus
