// SPDX-License-Identifier: Apache-2.0
// Judges what processes of strict_caller left behind. Exit 1: something is wrong with it.
// usage: strict_verdict LOG...
#include <cstdio>
#include <string>
#include <vector>

#include "apps/proof/strict/verdict.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: strict_verdict LOG...\n", stderr);
    return 2;
  }
  const std::vector<std::string> files(argv + 1, argv + argc);
  const auto verdict = locus::strict_proof::JudgeFiles(files);
  if (!verdict.ok()) {
    std::fprintf(stderr, "strict_verdict: %s\n", verdict.status().ToString().c_str());
    return 2;
  }
  std::fputs(locus::strict_proof::Told(*verdict).c_str(), stdout);
  return verdict->ok() ? 0 : 1;
}
