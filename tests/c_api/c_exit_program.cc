// SPDX-License-Identifier: Apache-2.0
// usage: c_exit_program LIBRARY STORE LEASES TABLE
// Opens an object of each kind, unloads the library, uses the objects, and exits with all of them
// open.
#include <dlfcn.h>

#include <cstdio>

#include "locus/locus_c.h"

namespace {

// Static, so that they are reachable at the end.
locus_generator* generator;
locus_sequence* sequence;
locus_snowflake* snowflake;
locus_router* router;
locus_error error;

#define LOCUS_FIND(name) \
  auto* const name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name))

bool Failed(locus_code code, const char* what) {
  if (code == LOCUS_OK) return false;
  std::fprintf(stderr, "%s: %d: %s\n", what, code, error.message);
  return true;
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) return 2;
  void* const library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  LOCUS_FIND(locus_generator_open);
  LOCUS_FIND(locus_generator_next);
  LOCUS_FIND(locus_sequence_open);
  LOCUS_FIND(locus_sequence_next);
  LOCUS_FIND(locus_snowflake_open);
  LOCUS_FIND(locus_snowflake_next);
  LOCUS_FIND(locus_router_open);
  LOCUS_FIND(locus_router_epoch);
  if (Failed(locus_generator_open(words[2], nullptr, &generator, &error), "generator") ||
      Failed(locus_sequence_open(words[2], "exit", nullptr, &sequence, &error), "sequence") ||
      Failed(locus_snowflake_open(words[3], nullptr, &snowflake, &error), "snowflake") ||
      Failed(locus_router_open(words[4], nullptr, &router, &error), "router")) {
    return 1;
  }
  dlclose(library);
  locus_order_id id;
  int64_t number;
  if (Failed(locus_generator_next(generator, 7, 60000, &id, &error), "next") ||
      Failed(locus_sequence_next(sequence, 60000, &number, &error), "number") ||
      Failed(locus_snowflake_next(snowflake, &number, &error), "ID") ||
      locus_router_epoch(router) != 1) {
    return 1;
  }
  return 0;
}
