// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_DATA_DIRECTORY_H_
#define LOCUS_APPS_LOCUSD_DATA_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"

namespace locus::locusd {

// Makes the data directory, mode 0700, where it is missing. FAILED_PRECONDITION: it cannot be made,
// or is there, and every user may write it.
absl::Status MakeDataDirectory(const std::string& path);
// FAILED_PRECONDITION: the data directory is there, and its permissions are wrong.
absl::Status CheckDataDirectory(const std::string& path);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_DATA_DIRECTORY_H_
