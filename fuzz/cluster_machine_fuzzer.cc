// SPDX-License-Identifier: Apache-2.0
// Commands, answers, snapshots and notes of the lease machine: what is accepted has one form only;
// a machine with any history applies any command, and is equal to one that was restored before it.
#include <cstdint>
#include <string_view>

#include "src/base/os/check.h"
#include "src/cluster/machine/clock_note.h"
#include "src/cluster/machine/codec.h"
#include "src/cluster/machine/machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace locus::cluster_machine;
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  if (auto note = DecodeClockNote(input); note.ok()) LOCUS_CHECK(Encode(*note) == input);
  if (auto answers = DecodeAnswers(input); answers.ok()) LOCUS_CHECK(*Encode(*answers) == input);
  if (auto machine = Machine::Restore(input); machine.ok()) {
    LOCUS_CHECK(machine->Snapshot() == input);
    machine->Apply({machine->now() + absl::Hours(1), true, {}});
  }
  auto command = DecodeCommand(input);
  if (!command.ok()) return 0;
  LOCUS_CHECK(*Encode(*command) == input);
  Machine machine;
  machine.Apply(*command);
  Machine restored = Machine::Restore(machine.Snapshot()).value();
  const auto one = machine.Apply(*command);
  const auto other = restored.Apply(*command);
  LOCUS_CHECK(one.answers == other.answers && one.facts == other.facts);
  LOCUS_CHECK(Encode(one.answers).ok());
  LOCUS_CHECK(machine.Snapshot() == restored.Snapshot());
  return 0;
}
