// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_ROLE_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_ROLE_H_

#include "apps/locusd/config/config.h"
#include "apps/locusd/console/console_api.h"
#include "apps/locusd/ids/running.h"

namespace locus::locusd {

// What the console of a configured process shows. What `running` asks must outlive it.
ConsoleParts ConsolePartsOf(const Running& running, const Config& config);
ConsoleOptions ConsoleOptionsOf(const Running& running, const Config& config);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_ROLE_H_
