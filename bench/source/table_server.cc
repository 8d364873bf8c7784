// SPDX-License-Identifier: Apache-2.0
// Serves a routing table by HTTP with long polls, for bench/source/propagation_bench.sh:
//
//   table_server FILE      prints its URL, then follows FILE until it is killed
#include <chrono>
#include <cstdio>
#include <string>

#include "locus/routing/file_table.h"
#include "tests/source/http_table_server.h"

namespace locus {
namespace {

int Serve(const std::string& path) {
  auto source = FileTableSource::Open(path);
  if (!source.ok()) {
    std::fprintf(stderr, "table_server: %s\n", source.status().ToString().c_str());
    return 1;
  }
  HttpTableServer server;
  server.Behave({.hold = true});
  server.Start();
  std::printf("%s\n", server.url().c_str());
  std::fflush(stdout);
  std::string known;
  while (true) {
    auto next = (*source)->Next(known, std::chrono::steady_clock::now() + std::chrono::seconds(5));
    if (!next.ok() || !*next) continue;
    known = (*next)->version;
    server.SetDocument((*next)->document);
  }
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  if (argc == 2) return locus::Serve(argv[1]);
  std::fprintf(stderr, "usage: table_server FILE\n");
  return 2;
}
