// SPDX-License-Identifier: Apache-2.0
#include "tests/source/losing_relay.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "tests/support/private_server.h"

namespace locus {

using internal::MutexLock;

namespace {

// Empty: there is no more.
std::string Receive(int from) {
  std::string text(64 << 10, '\0');
  ssize_t got = recv(from, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

bool SendAll(int to, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    ssize_t some = send(to, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (some <= 0) return false;
    sent += static_cast<size_t>(some);
  }
  return true;
}

}  // namespace

LosingRelay::LosingRelay(uint16_t server_port) : server_port_(server_port) {
  LoopbackListener listener = ListenOnLoopback();
  listener_ = listener.fd;
  port_ = listener.port;
  stop_ = eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { Run(); });
}

LosingRelay::~LosingRelay() {
  eventfd_write(stop_, 1);
  thread_.join();
  close(stop_);
  close(listener_);
}

void LosingRelay::LoseAnswersTo(const std::string& word) {
  MutexLock lock(mutex_);
  word_ = word;
  ++words_;
}

void LosingRelay::Run() {
  while (true) {
    std::vector<pollfd> fds{{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Link& link : links_) {
      fds.push_back({link.client, POLLIN, 0});
      fds.push_back({link.server, POLLIN, 0});
    }
    poll(fds.data(), fds.size(), -1);
    bool stop = fds[0].revents != 0;
    for (size_t i = 0; i < links_.size(); ++i) {
      Link& link = links_[i];
      if (fds[2 + 2 * i].revents != 0) PassRequest(link);
      if (fds[3 + 2 * i].revents != 0) PassAnswer(link);
      if (!link.ended && !stop) continue;
      close(link.client);
      close(link.server);
    }
    if (stop) return;
    std::erase_if(links_, [](const Link& link) { return link.ended; });
    if (fds[1].revents != 0) Accept();
  }
}

void LosingRelay::Accept() {
  Link link;
  link.client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  link.server = ConnectToLoopback(server_port_);
  if (link.server < 0) {
    close(link.client);
    return;
  }
  links_.push_back(link);
}

void LosingRelay::PassRequest(Link& link) {
  std::string text = Receive(link.client);
  {
    MutexLock lock(mutex_);
    // What was asked before the word was named is no request that holds it.
    if (std::exchange(link.words, words_) != words_) link.last_asked.clear();
    link.last_asked += text;
    link.to_lose |= !word_.empty() && link.last_asked.find(word_) != std::string::npos;
  }
  constexpr size_t kLongestWord = 64;
  if (link.last_asked.size() > kLongestWord) {
    link.last_asked.erase(0, link.last_asked.size() - kLongestWord);
  }
  link.ended |= text.empty() || !SendAll(link.server, text);
}

void LosingRelay::PassAnswer(Link& link) {
  std::string text = Receive(link.server);
  if (link.to_lose && !text.empty()) ++lost_;
  link.ended |= link.to_lose || text.empty() || !SendAll(link.client, text);
}

}  // namespace locus
