// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_SOURCE_PUBLICATION_NOTE_H_
#define LOCUS_ROUTING_SOURCE_PUBLICATION_NOTE_H_

#include <string>
#include <string_view>

#include "locus/routing/table_publisher.h"

namespace locus::internal {

// A note as files and etcd keep it: the author and the reason, a line each.
std::string NoteText(const PublicationNote& note);
PublicationNote ParseNoteText(std::string_view text);

// The note of these texts. One that PublicationNote::Check would refuse is cut and escaped.
PublicationNote SafeNote(std::string_view author, std::string_view reason);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_SOURCE_PUBLICATION_NOTE_H_
