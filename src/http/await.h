// SPDX-License-Identifier: Apache-2.0
// How coroutines of this folder wait.
#ifndef LOCUS_SRC_HTTP_AWAIT_H_
#define LOCUS_SRC_HTTP_AWAIT_H_

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace locus::http {

// Errors are values.
inline constexpr auto kAwait = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_AWAIT_H_
