// SPDX-License-Identifier: Apache-2.0
#include "src/strict/refusals.h"

#include "absl/strings/str_cat.h"
#include "locus/strict_sequencer.h"
#include "src/base/text/text.h"
#include "src/strict/strict_rules.h"

namespace locus::strict {

using internal::ToAbsl;

std::string Refusals::Place(uint32_t section) const {
  return absl::StrCat("set ", set_.str(), ", section ", section);
}

absl::Status Refusals::NoSuchUid(uint64_t uid) const {
  return absl::InvalidArgumentError(absl::StrCat("uid ", uid, " is not one of set ", set_.str(),
                                                 ", which has ", options_.uids, " uids from ",
                                                 options_.first_uid, " on"));
}

absl::Status Refusals::NoSuchSection(uint32_t section) const {
  return absl::InvalidArgumentError(absl::StrCat("section ", section, " is not one of set ",
                                                 set_.str(), ", which has ", options_.sections(),
                                                 " sections"));
}

absl::Status Refusals::NotOurs(uint32_t section, uint64_t table_version,
                               std::string_view holder) const {
  return absl::AbortedError(absl::StrCat(Place(section), " is not ", owner_, "'s; table version ",
                                         table_version,
                                         holder.empty() ? " knows of no owner" : " says it is ",
                                         ToAbsl(holder), holder.empty() ? "" : "'s"));
}

absl::Status Refusals::UsedUp(uint32_t section, uint64_t max_seq) const {
  return absl::UnavailableError(absl::StrCat(Place(section), ": the numbers stored ahead, up to ",
                                             max_seq, ", are used up; more are asked for"));
}

absl::Status Refusals::OutOfNumbers(uint32_t section) const {
  return absl::OutOfRangeError(
      absl::StrCat(Place(section), ": its numbers, up to ", kMostNumber, ", are used up"));
}

absl::Status Refusals::NoMemory(uint32_t section, uint64_t most_bytes) const {
  return absl::UnavailableError(
      absl::StrCat(Place(section), ": keys have all the memory that they may have, ", most_bytes,
                   " bytes (most_memory); some of it is being freed"));
}

absl::Status Refusals::OpenedAnew(uint32_t section) const {
  return absl::UnavailableError(
      absl::StrCat(Place(section), " was opened again while the number was drawn"));
}

absl::Status Refusals::Ended(uint32_t section, const absl::Status& last) const {
  return absl::UnavailableError(
      absl::StrCat(Place(section), ": its ownership was not renewed in time",
                   last.ok() ? "" : absl::StrCat("; the last answer: ", last.ToString())));
}

absl::Status Refusals::NoAddresses(uint32_t section) const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "the system has no memory for the ", options_.section_size, " uids of section ", section));
}

absl::Status Refusals::LossNoticed(std::string_view call, size_t sections,
                                   uint64_t table_version) const {
  return absl::DataLossError(absl::StrCat(
      "set ", set_.str(), ": noticed by ", owner_, "'s ", ToAbsl(call), " of ", sections,
      sections == 1 ? " section" : " sections",
      ": the store has another identity, or lacks data that an owner knows; table version ",
      table_version));
}

absl::Status Refusals::OtherSections(size_t asked) const {
  return absl::DataLossError(absl::StrCat("set ", set_.str(),
                                          ": the store answered for other sections than the ",
                                          asked, " that it was asked for"));
}

absl::Status CheckMemory(uint64_t most_bytes) {
  if (most_bytes >= StrictSequencerOptions::kLeastMemory &&
      most_bytes <= StrictSequencerOptions::kMostMemory) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("most_memory is ", most_bytes, "; it must be ",
                                                 StrictSequencerOptions::kLeastMemory, " to ",
                                                 StrictSequencerOptions::kMostMemory, " bytes"));
}

}  // namespace locus::strict
