// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "locus/engine/sqlite.h"
#include "locus/routing/file_table.h"
#include "order_dao.h"

namespace {

constexpr char kUsage[] =
    "usage: order_dao --table FILE --keys FILE [--store SQLITE_FILE] [--user USER] VERB VALUE...\n"
    "  insert BUYER...      an order each (needs --store)\n"
    "  find-buyer BUYER...\n"
    "  find-id ORDER_ID...\n"
    "  find-no ORDER_NO...\n"
    "The password is the first line of the file that LOCUS_PASSWORD_FILE names, or empty.\n";

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
  bool complete = arguments.options.count("table") + arguments.options.count("keys") == 2;
  if (!complete || arguments.values.empty()) return {};
  return arguments;
}

std::string Password() {
  const char* file = std::getenv("LOCUS_PASSWORD_FILE");
  std::string line;
  if (file != nullptr) std::getline(std::ifstream(file) >> std::ws, line);
  return line;
}

absl::StatusOr<uint64_t> BuyerOf(const std::string& text) {
  uint64_t buyer = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), buyer);
  if (error == std::errc() && end == text.data() + text.size()) return buyer;
  return absl::InvalidArgumentError("\"" + text + "\" is no buyer: a number is");
}

void Print(const shop::Order& order, locus::Router& router) {
  std::cout << order.id << "\t" << order.no << "\tbuyer " << order.buyer << "\tversion "
            << order.version << "\t" << router.Route(order.id).name << "\n";
}

absl::Status RunOne(shop::OrderDao& dao, locus::Router& router, const std::string& verb,
                    const std::string& value) {
  if (verb == "find-buyer") {
    auto buyer = BuyerOf(value);
    if (!buyer.ok()) return buyer.status();
    auto orders = dao.FindByBuyer(*buyer);
    if (!orders.ok()) return orders.status();
    for (const shop::Order& order : *orders) Print(order, router);
    return absl::OkStatus();
  }
  absl::StatusOr<shop::Order> order = absl::InvalidArgumentError("there is no verb " + verb);
  if (verb == "insert") {
    auto buyer = BuyerOf(value);
    order = buyer.ok() ? dao.Insert(*buyer) : buyer.status();
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
  // What a service does once, when it starts:
  auto source = locus::FileTableSource::Open(option("table"));
  if (!source.ok()) return source.status();
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
  options.password = Password();
  auto pools = locus::ShardPools::Create(options);
  if (!pools.ok()) return pools.status();
  // And for every request:
  shop::OrderDao dao(**router, **pools, ids.get(), *codec);
  for (const std::string& value : arguments.values) {
    absl::Status status = RunOne(dao, **router, arguments.verb, value);
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
