// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/places.h"

#include <cstdlib>

namespace locus::proof {

std::string LocusdProgram() {
  const char* named = std::getenv("LOCUS_PROOF_LOCUSD");
  return named == nullptr ? LOCUS_LOCUSD_PROGRAM : named;
}
std::string LeaseClientProgram() { return LOCUS_LEASE_CLIENT_PROGRAM; }
std::string StoreWriterProgram() { return LOCUS_STORE_WRITER_PROGRAM; }
std::string PreloadedFaults() { return LOCUS_PRELOADED_FAULTS; }

}  // namespace locus::proof
