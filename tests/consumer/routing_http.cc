// SPDX-License-Identifier: Apache-2.0
// A user's program: what sources of HTTP servers that are not there answer.
#include <chrono>
#include <iostream>

#include "locus/routing/engine/http.h"

int main() {
  for (const char* url : {"http://127.0.0.1:1/table.json", "https://127.0.0.1:1/table.json"}) {
    locus::HttpTableOptions options;
    options.url = url;  // tcpmux: nobody listens there
    auto source = locus::HttpTableSource::Open(options).value();
    std::cout << source->Next("", std::chrono::steady_clock::now()).status() << '\n';
  }
}
