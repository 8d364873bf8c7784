// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_STRICT_FLAW_H_
#define LOCUS_SRC_CLUSTER_MACHINE_STRICT_FLAW_H_

#include "src/strict/flaw.h"
#include "src/strict/strict_rules.h"

// Mistakes in the ownership of sections, that the machine could make. Tests compile it once more
// with LOCUS_STRICT_MACHINE_FLAWS and make each of them, to show that the simulation notices. Other
// builds contain none of them.

namespace locus::strict_machine {

#ifdef LOCUS_STRICT_MACHINE_FLAWS
inline thread_local strict::Flaw flaw = strict::Flaw::kNone;
struct Faults {
  static bool Has(strict::Flaw one) { return flaw == one; }
};
using Rules = strict::RulesOf<Faults>;
#else
using Rules = strict::Rules;
#endif

}  // namespace locus::strict_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_STRICT_FLAW_H_
