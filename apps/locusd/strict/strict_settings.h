// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_STRICT_SETTINGS_H_
#define LOCUS_APPS_LOCUSD_STRICT_STRICT_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "apps/locusd/ids/id_settings.h"
#include "locus/space.h"
#include "locus/strict_sequencer.h"
#include "locus/strict_store.h"

namespace locus::locusd {

// [strict]: a node of a set of strict sequences.
struct StrictSettings {
  PlaceSettings place;
  bool create = false;  // whether a missing file, missing tables and the set are made
  std::string name;     // StrictOwner::name; no two nodes of a set have one name
  // Where clients and the other nodes reach the API.
  std::string advertise;
  SpaceName set;
  StrictSetOptions options;
  // Exactly these, ascending; empty: the sections are spread over the nodes that are alive.
  std::vector<uint32_t> sections;
  // StrictSequencerOptions::most_memory.
  uint64_t memory_bytes = StrictSequencerOptions().most_memory;
  uint64_t weight = 100;   // this node's part of the load, against the others'
  std::string token_file;  // shown to the other nodes; empty: none
  std::string authority;   // of the other nodes' certificates; empty: the system's

  friend bool operator==(const StrictSettings&, const StrictSettings&) = default;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_STRICT_SETTINGS_H_
