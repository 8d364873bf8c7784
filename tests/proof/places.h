// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PROOF_PLACES_H_
#define LOCUS_TESTS_PROOF_PLACES_H_

#include <string>

// Full paths of the programs built with the tests of this folder.

namespace locus::proof {

// The daemon; another one, if the environment names it in LOCUS_PROOF_LOCUSD.
std::string LocusdProgram();
std::string LeaseClientProgram();
std::string StoreWriterProgram();
std::string PreloadedFaults();

}  // namespace locus::proof

#endif  // LOCUS_TESTS_PROOF_PLACES_H_
