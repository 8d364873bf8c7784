// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_SOURCE_PUBLICATION_NOTE_H_
#define LOCUS_ROUTING_SOURCE_PUBLICATION_NOTE_H_

#include <string>
#include <string_view>

#include "locus/routing/table_publisher.h"

namespace locus::internal {

// A note as files and etcd keep it: the author, the reason and the publication that it is of, a
// line each. A note may be left without its table, and the epoch may then be published by an
// earlier version, which knows no notes.
std::string NoteText(const PublicationNote& note, std::string_view of);
// Empty if the note is of another publication.
PublicationNote ParseNoteText(std::string_view text, std::string_view of);

// The note of these texts. One that PublicationNote::Check would refuse is cut and escaped.
PublicationNote SafeNote(std::string_view author, std::string_view reason);

// The text with "..." where a URI of it, which ends at a space, has a password.
std::string WithoutPasswords(std::string_view text);

// The note that the place keeps of `epoch`; an empty one if it keeps none. NOT_FOUND: the epoch is
// not one of its newest two. Also the errors of History.
absl::StatusOr<PublicationNote> KeptNote(TablePublisher& publisher, uint64_t epoch);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_SOURCE_PUBLICATION_NOTE_H_
