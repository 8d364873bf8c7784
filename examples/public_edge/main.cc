// SPDX-License-Identifier: Apache-2.0
// A public edge that receives customers' order_nos. It authenticates each by its key before it
// queries any shard, and answers a forged one like a mistyped one. usage: public_edge KEYRING
// TABLE < NUMBERS
//   prints for each line "ORDER_ID SHARD", or "404"; exit 0
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>

#include "locus/locus.h"
#include "locus/routing/router.h"

namespace {

int Fail(const absl::Status& status) {
  std::cerr << "public_edge: " << status.message() << "\n";
  return 1;
}

// The text that a customer typed: spaces and dashes are for reading. The format itself refuses
// them.
std::string WithoutSeparators(std::string_view typed) {
  std::string number;
  for (char c : typed) {
    if (c != ' ' && c != '-' && c != '\r') number += c;
  }
  return number;
}

// One answer for every reason, so that a guesser learns nothing from it.
absl::StatusOr<locus::OrderId> Authenticated(const locus::OrderNoCodec& codec,
                                             std::string_view typed) {
  absl::StatusOr<locus::OrderNo> number = locus::OrderNo::Parse(WithoutSeparators(typed));
  if (number.ok()) {
    absl::StatusOr<locus::OrderId> id = codec.Decode(*number);
    if (id.ok()) return id;
  }
  return absl::NotFoundError("no such order");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: public_edge KEYRING TABLE < NUMBERS\n";
    return 2;
  }
  absl::StatusOr<locus::KeyRing> ring = locus::KeyRing::Load(argv[1]);
  if (!ring.ok()) return Fail(ring.status());
  absl::StatusOr<locus::OrderNoCodec> codec = locus::OrderNoCodec::Create(*ring);
  if (!codec.ok()) return Fail(codec.status());

  std::ifstream file(argv[2]);
  if (!file) return Fail(absl::NotFoundError(std::string("cannot open ") + argv[2]));
  std::string document{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  absl::StatusOr<locus::RoutingTable> table = locus::RoutingTable::Parse(document);
  if (!table.ok()) return Fail(table.status());
  locus::Router router(*table);

  for (std::string line; std::getline(std::cin, line);) {
    absl::StatusOr<locus::OrderId> id = Authenticated(*codec, line);
    if (!id.ok()) {
      std::cout << "404\n";
      continue;
    }
    // Only now a shard is known; the row is read there by the order ID.
    std::cout << *id << " " << router.Route(*id).name << "\n";
  }
  return 0;
}
