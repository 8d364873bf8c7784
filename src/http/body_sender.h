// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_BODY_SENDER_H_
#define LOCUS_SRC_HTTP_BODY_SENDER_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "src/http/await.h"
#include "src/http/body_stream.h"
#include "src/http/conversation.h"

namespace locus::http {

// Sends the body of an answer whose header was sent, until its end, or until the client has read
// nothing for `patience`. True: it was sent to its end. `bell`, of the connection's thread, is
// cancelled when there may be more.
template <typename Stream>
boost::asio::awaitable<bool> SendBody(Stream& stream, Connection& connection, BodyStream& body,
                                      boost::asio::steady_timer& bell, bool chunked,
                                      absl::Duration patience) {
  while (true) {
    const BodyStream::Taken taken = body.Take();
    if (taken.overrun) co_return false;
    size_t bytes = 0;
    for (const BodyStream::Piece& piece : taken.pieces) bytes += piece->size();
    std::vector<boost::asio::const_buffer> buffers;
    const std::string head = chunked && bytes > 0 ? absl::StrCat(absl::Hex(bytes), "\r\n") : "";
    std::string tail = chunked && bytes > 0 ? "\r\n" : "";
    if (chunked && taken.end) tail += "0\r\n\r\n";
    buffers.push_back(boost::asio::buffer(head));
    for (const BodyStream::Piece& piece : taken.pieces) {
      buffers.push_back(boost::asio::buffer(*piece));
    }
    buffers.push_back(boost::asio::buffer(tail));
    if (bytes > 0 || !tail.empty()) {
      connection.Arm(patience);
      auto [error, sent] = co_await boost::asio::async_write(stream, buffers, kAwait);
      connection.Disarm();
      if (error) co_return false;
    }
    if (taken.end) co_return true;
    if (!taken.pieces.empty()) continue;  // more may have come meanwhile, without a bell
    bell.expires_at(std::chrono::steady_clock::time_point::max());
    co_await bell.async_wait(kAwait);
  }
}

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_BODY_SENDER_H_
