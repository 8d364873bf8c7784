// SPDX-License-Identifier: Apache-2.0
// Judges what processes of lease_client left behind: every ID, every lease, every call. Exit 1:
// something is wrong with them.
// usage: lease_verdict OUT...
#include <cstdio>
#include <string>
#include <vector>

#include "apps/proof/lease/verdict.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: lease_verdict OUT...\n", stderr);
    return 2;
  }
  const std::vector<std::string> outs(argv + 1, argv + argc);
  locus::proof::Verdict verdict;
  locus::proof::JudgeIds(outs, verdict);
  locus::proof::JudgeHistories(outs, /*seed=*/1, verdict);
  for (const std::string& wrong : verdict.wrong) std::printf("WRONG: %s\n", wrong.c_str());
  std::printf("%lu IDs of %lu leases: %s\n", verdict.ids, verdict.leases,
              verdict.wrong.empty()
                  ? "none twice, none outside its lease, each after all of the holder before"
                  : "see above");
  std::printf("%lu calls of acquire, renew, release and show: %s\n", verdict.calls,
              verdict.wrong.empty() ? "linearizable" : "see above");
  std::puts(verdict.wrong.empty() ? "verdict: OK" : "verdict: BROKEN");
  return verdict.wrong.empty() ? 0 : 1;
}
