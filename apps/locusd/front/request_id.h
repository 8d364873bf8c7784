// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_FRONT_REQUEST_ID_H_
#define LOCUS_APPS_LOCUSD_FRONT_REQUEST_ID_H_

#include <string>
#include <string_view>

namespace locus::locusd {

// Whether a client's X-Request-Id is taken over: 1 to 128 letters, digits and ._:-+/=, which need
// no quotes in a log, a header or JSON.
bool IsRequestId(std::string_view text);

// 32 hex digits, another one each time: 64 random bits of the process and a count.
// Thread safety: may be called by any thread.
std::string MakeRequestId();

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_FRONT_REQUEST_ID_H_
