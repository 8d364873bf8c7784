// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_CONSOLE_REQUEST_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_CONSOLE_REQUEST_H_

#include <optional>

#include "src/http/server.h"

namespace locus::locusd {

// Why a request that plans or changes something is not taken: 415, its body is no JSON; 403, the
// header Locus-Console is missing, or a page of another origin sends it. Such a page can neither
// set the header nor send JSON without being asked first, and this service agrees to nothing then.
std::optional<http::ServerAnswer> RefuseForeign(const http::ServerRequest& request);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_CONSOLE_REQUEST_H_
