// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "locus/engine/sqlite.h"
#include "locus/order_id_generator.h"
#include "order_dao.h"
#include "table_place.h"

namespace {

constexpr char kUsage[] =
    "usage: order_dao --table TABLE --keys FILE [--store SQLITE_FILE] [--user USER] VERB VALUE...\n"
    "  insert BUYER...      an order each (needs --store)\n"
    "  find-buyer BUYER...\n"
    "  find-id ORDER_ID...\n"
    "  find-no ORDER_NO...\n"
    "TABLE is a file, or file:PATH, etcd://HOST:PORT/PREFIX, mysql://USER@HOST:PORT/DATABASE or\n"
    "http(s)://... The password for the shards is the first line of the file that\n"
    "LOCUS_PASSWORD_FILE names, or empty; that for the table, of LOCUS_TABLE_PASSWORD_FILE.\n";

struct Arguments {
  std::map<std::string, std::string> options;
  std::string verb;
  std::vector<std::string> values;
};

std::optional<Arguments> Read(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word.substr(0, 2) == "--" && i + 1 < argc) {
      arguments.options[word.substr(2)] = argv[++i];
    } else if (arguments.verb.empty()) {
      arguments.verb = word;
    } else {
      arguments.values.push_back(word);
    }
  }
  for (const auto& [name, value] : arguments.options) {
    if (name != "table" && name != "keys" && name != "store" && name != "user") return {};
  }
  const std::set<std::string> verbs = {"insert", "find-buyer", "find-id", "find-no"};
  auto given = [&](const char* option) { return arguments.options.count(option) == 1; };
  if (!given("table") || !given("keys") || (arguments.verb == "insert" && !given("store")))
    return {};
  if (verbs.count(arguments.verb) == 0 || arguments.values.empty()) return {};
  return arguments;
}

// The first line of the file that the environment variable names; empty if it is not set.
absl::StatusOr<std::string> PasswordOf(const char* variable) {
  const char* path = std::getenv(variable);
  std::string line;
  if (path == nullptr) return line;
  std::ifstream file(path);
  if (std::getline(file, line)) return line;
  return absl::FailedPreconditionError(std::string(variable) + " names " + path +
                                       ", which has no first line; write the password there");
}

absl::StatusOr<uint64_t> BuyerOf(const std::string& text) {
  uint64_t buyer = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), buyer);
  if (error == std::errc() && end == text.data() + text.size()) return buyer;
  return absl::InvalidArgumentError("\"" + text + "\" is not a buyer: write a number");
}

void Print(const shop::Order& order, locus::Router& router) {
  std::cout << order.id << "\t" << order.no << "\tbuyer " << order.buyer << "\tversion "
            << order.version << "\t" << router.Route(order.id).name << "\n";
}

// The caller takes the order ID, so that it can insert the order again after a lost answer.
absl::StatusOr<shop::Order> Insert(shop::OrderDao& dao, locus::OrderIdGenerator& ids,
                                   uint64_t buyer) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  auto id = ids.Next(locus::BuyerKey::Uint64(buyer), deadline);
  if (!id.ok()) return id.status();
  auto order = dao.Insert(*id, buyer);
  while (absl::IsUnavailable(order.status()) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    order = dao.Insert(*id, buyer);
  }
  return order;
}

absl::Status RunOne(shop::OrderDao& dao, locus::Router& router, locus::OrderIdGenerator* ids,
                    const std::string& verb, const std::string& value) {
  if (verb == "find-buyer") {
    auto buyer = BuyerOf(value);
    if (!buyer.ok()) return buyer.status();
    auto orders = dao.FindByBuyer(*buyer);
    if (!orders.ok()) return orders.status();
    for (const shop::Order& order : *orders) Print(order, router);
    return absl::OkStatus();
  }
  absl::StatusOr<shop::Order> order;
  if (verb == "insert") {
    auto buyer = BuyerOf(value);
    order = buyer.ok() ? Insert(dao, *ids, *buyer) : buyer.status();
  } else if (verb == "find-id") {
    auto id = locus::OrderId::Parse(value);
    order = id.ok() ? dao.FindById(*id) : id.status();
  } else if (verb == "find-no") {
    order = dao.FindByNo(value);
  }
  if (!order.ok()) return order.status();
  Print(*order, router);
  return absl::OkStatus();
}

absl::Status Run(const Arguments& arguments) {
  auto option = [&](const char* name) {
    auto found = arguments.options.find(name);
    return found == arguments.options.end() ? std::string() : found->second;
  };
  // Once, when the service starts:
  auto table_password = PasswordOf("LOCUS_TABLE_PASSWORD_FILE");
  if (!table_password.ok()) return table_password.status();
  auto source = shop::OpenTableSource(option("table"), *table_password);
  if (!source.ok()) return source.status();
  // A service also sets RouterOptions::last_good_file, so that it can start while the source of the
  // table is down, and on_event, which reports tables that it refuses.
  auto router = locus::Router::Open(*std::move(source));
  if (!router.ok()) return router.status();
  auto ring = locus::KeyRing::Load(option("keys"));
  if (!ring.ok()) return ring.status();
  auto codec = locus::OrderNoCodec::Create(*ring, locus::SpaceName());
  if (!codec.ok()) return codec.status();
  std::unique_ptr<locus::OrderIdGenerator> ids;
  if (arguments.verb == "insert") {
    auto store = locus::SqliteSegmentStore::Open(option("store"), {});
    if (!store.ok()) return store.status();
    std::shared_ptr<locus::SegmentStore> shared = *std::move(store);
    auto made = locus::OrderIdGenerator::Create(shared, {});
    if (!made.ok()) return made.status();
    ids = *std::move(made);
  }
  locus::ShardPoolsOptions options;
  options.user = option("user").empty() ? "orders" : option("user");
  auto password = PasswordOf("LOCUS_PASSWORD_FILE");
  if (!password.ok()) return password.status();
  options.password = *password;
  auto pools = locus::ShardPools::Create(options);
  if (!pools.ok()) return pools.status();
  shop::OrderDao dao(**router, **pools, *codec);
  // For every request:
  for (const std::string& value : arguments.values) {
    absl::Status status = RunOne(dao, **router, ids.get(), arguments.verb, value);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<Arguments> arguments = Read(argc, argv);
  if (!arguments) {
    std::cerr << kUsage;
    return 2;
  }
  absl::Status status = Run(*arguments);
  if (status.ok()) return 0;
  std::cerr << "order_dao: " << status << "\n";
  return 1;
}
