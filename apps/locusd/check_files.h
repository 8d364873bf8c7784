// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CHECK_FILES_H_
#define LOCUS_APPS_LOCUSD_CHECK_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "apps/locusd/config/config.h"

namespace locus::locusd {

// Whether the files that the configuration names, all but those in its data directory, can be used
// by this user: tokens, certificates, keys, authorities, the key ring, passwords. The message has a
// line for each that cannot, with the place of its key in the configuration. UNAVAILABLE: all of
// them may be readable another time; otherwise FAILED_PRECONDITION.
absl::Status CheckFiles(const Config& config);
// CheckFiles, and what else the start would find wrong without asking a server: a routing table in
// a file, SQLite files that are missing, permissions of the data directory. Makes and changes
// nothing.
absl::Status CheckAllButServers(const Config& config);
// A line for each certificate in use and each token that has ended by `now`. They keep nobody from
// starting: of tokens it may be meant. Files that cannot be read are CheckFiles' to tell.
std::vector<std::string> WhatHasEnded(const Config& config, absl::Time now);
// The keys of what only the start asks.
std::vector<std::string> KeysOfServers(const Config& config);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CHECK_FILES_H_
