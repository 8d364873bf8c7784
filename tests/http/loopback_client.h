// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_HTTP_LOOPBACK_CLIENT_H_
#define LOCUS_TESTS_HTTP_LOOPBACK_CLIENT_H_

#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/http/connection.h"
#include "src/http/server.h"

// How tests of a server on loopback reach it.
namespace locus::http {

inline TimePoint Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(120); }

// Fails the test if the server does not answer.
inline std::unique_ptr<HttpConnection> ConnectTo(const Server& server,
                                                 const TlsContext* tls = nullptr) {
  auto endpoint = Endpoint::Parse(absl::StrCat("127.0.0.1:", server.port()));
  auto connection = HttpConnection::Connect(*endpoint, tls, Soon());
  EXPECT_TRUE(connection.ok()) << connection.status();
  return connection.ok() ? *std::move(connection) : nullptr;
}

// All bytes until the server closes the connection; then closes this end as well.
inline std::string ReadUntilClosed(int fd) {
  std::string all;
  char part[65536];
  for (ssize_t size; (size = read(fd, part, sizeof part)) > 0;) {
    all.append(part, static_cast<size_t>(size));
  }
  close(fd);
  return all;
}

}  // namespace locus::http

#endif  // LOCUS_TESTS_HTTP_LOOPBACK_CLIENT_H_
