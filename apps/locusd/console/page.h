// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_PAGE_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_PAGE_H_

#include <span>
#include <string_view>

#include "src/http/server.h"

namespace locus::locusd {

// A file of the console's page, which is built into the program. It holds nothing of this service:
// whoever may reach the port may read it.
struct PageFile {
  std::string_view path;  // "/index.html"
  std::string_view type;
  std::string_view body;
  std::string_view digest;  // SHA-256 in hex
};

// All of them, ordered by path.
std::span<const PageFile> PageFiles();
// "/" is /index.html. nullptr: there is none.
const PageFile* FindPageFile(std::string_view path);

// The file, or 304 where the client has it. A file whose name has a hash may be kept for ever,
// another one is asked for each time.
http::ServerAnswer AnswerWithPage(const PageFile& file, const http::ServerRequest& request);

// What keeps a browser from doing more with an answer than the console needs: no script, style or
// connection of another origin, no frame around it, no guess of its type.
void AddSecurityHeaders(http::ServerAnswer& answer);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_PAGE_H_
