// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_TLS_CONTEXT_REP_H_
#define LOCUS_SRC_HTTP_TLS_CONTEXT_REP_H_

#include <boost/asio/ssl/context.hpp>

#include "src/http/tls_context.h"

namespace locus::http {

struct TlsContext::Rep {
  // For both sides of a connection: nodes of Raft are both client and server.
  boost::asio::ssl::context context{boost::asio::ssl::context::tls};
};

// Why a handshake failed with `error`, and where to look: a certificate that is not valid now may
// be one that this machine's clock is wrong about.
std::string WhyHandshakeFailed(const SSL* connection, const boost::system::error_code& error);

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_TLS_CONTEXT_REP_H_
