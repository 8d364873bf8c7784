// SPDX-License-Identifier: Apache-2.0
// Sends requests at a fixed rate, whatever the server does, and prints how long after its time each
// was answered: a request that has to wait for a free connection waits from when it was due.
//
//   paced_load HOST:PORT RATE SECONDS CONNECTIONS TARGET [BODY]
//
// Each % of BODY becomes ten digits, others in each of 4,096 requests that are sent in turn: a
// buyer gets no more than a vnode may have, 16,384 IDs a second. Prints: "sent N, failed N, p50 MS,
// p99 MS, p99.9 MS, max MS". Exit 1: an answer was not 200.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "paced_load: %s\n", why.c_str());
  std::exit(2);
}

struct Client {
  int fd = -1;
  bool busy = false;
  TimePoint due;
  std::string answer;
};

// The whole length of the answer that begins there; 0: not known yet.
size_t LengthOf(const std::string& answer) {
  const size_t end = answer.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  const size_t at = answer.find("Content-Length: ");
  const size_t body = at < end ? std::strtoul(answer.c_str() + at + 16, nullptr, 10) : 0;
  return end + 4 + body;
}

class Load {
 public:
  Load(const std::string& address, double rate, double seconds, size_t connections)
      : period_(1e9 / rate), total_(static_cast<uint64_t>(rate * seconds)), clients_(connections) {
    const size_t colon = address.rfind(':');
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(std::atoi(address.c_str() + colon + 1)));
    if (inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) != 1) {
      Fail(address + " is no IPv4 address and port");
    }
    epoll_ = epoll_create1(0);
    for (size_t i = 0; i < clients_.size(); ++i) {
      clients_[i].fd = socket(AF_INET, SOCK_STREAM, 0);
      if (connect(clients_[i].fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
        Fail("cannot connect to " + address);
      }
      const int yes = 1;
      setsockopt(clients_[i].fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      Watch(clients_[i].fd, i);
      free_.push_back(i);
    }
    timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    Watch(timer_, clients_.size());
  }

  // False: an answer was not 200.
  bool Run(const std::vector<std::string>& requests) {
    begin_ = Clock::now() + std::chrono::milliseconds(10);
    while (answered_ < total_) {
      SendDue(requests);
      epoll_event events[256];
      const int count = epoll_wait(epoll_, events, 256, 30'000);
      if (count == 0) Fail("nothing was answered for 30 seconds");
      for (int i = 0; i < count; ++i) {
        if (events[i].data.u64 < clients_.size()) {
          Read(events[i].data.u64);
        } else {
          uint64_t ignored = 0;
          (void)!read(timer_, &ignored, sizeof ignored);
        }
      }
    }
    return failed_ == 0;
  }

  void Print() {
    std::sort(taken_.begin(), taken_.end());
    auto at = [this](double share) {
      const auto place = static_cast<size_t>(share * static_cast<double>(taken_.size() - 1));
      return static_cast<double>(taken_[place]) / 1e6;
    };
    std::printf("sent %zu, failed %zu, p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, max %.2f ms\n",
                taken_.size(), failed_, at(0.5), at(0.99), at(0.999), at(1));
  }

 private:
  void Watch(int fd, size_t place) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = place;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  TimePoint DueOf(uint64_t number) const {
    return begin_ +
           std::chrono::nanoseconds(static_cast<int64_t>(period_ * static_cast<double>(number)));
  }

  void SendDue(const std::vector<std::string>& requests) {
    while (sent_ < total_ && !free_.empty() && DueOf(sent_) <= Clock::now()) {
      Client& client = clients_[free_.back()];
      free_.pop_back();
      client.due = DueOf(sent_);
      const std::string& request = requests[sent_++ % requests.size()];
      if (write(client.fd, request.data(), request.size()) !=
          static_cast<ssize_t>(request.size())) {
        Fail("a connection took less than a request");
      }
    }
    if (sent_ == total_ || free_.empty()) return;
    // Wakes when the next one is due.
    itimerspec when = {};
    const auto wait = std::max<int64_t>((DueOf(sent_) - Clock::now()).count(), 1);
    when.it_value.tv_sec = wait / 1'000'000'000;
    when.it_value.tv_nsec = wait % 1'000'000'000;
    timerfd_settime(timer_, 0, &when, nullptr);
  }

  void Read(size_t place) {
    Client& client = clients_[place];
    static char part[1 << 16];
    const ssize_t size = read(client.fd, part, sizeof part);
    if (size <= 0) Fail("the server closed a connection");
    client.answer.append(part, static_cast<size_t>(size));
    const size_t length = LengthOf(client.answer);
    if (length == 0 || client.answer.size() < length) return;
    if (client.answer.compare(0, 12, "HTTP/1.1 200") != 0) ++failed_;
    client.answer.erase(0, length);
    taken_.push_back((Clock::now() - client.due).count());
    ++answered_;
    free_.push_back(place);
  }

  const double period_;  // ns
  const uint64_t total_;
  int epoll_ = -1;
  int timer_ = -1;
  TimePoint begin_;
  uint64_t sent_ = 0;
  uint64_t answered_ = 0;
  size_t failed_ = 0;
  std::vector<Client> clients_;
  std::vector<size_t> free_;
  std::vector<int64_t> taken_;  // ns
};

// In which each % of `body` is another number.
std::vector<std::string> RequestsOf(const std::string& head, const std::string& body) {
  std::mt19937_64 random(42);
  std::vector<std::string> requests;
  for (int i = 0; i < 4096; ++i) {
    std::string text;
    for (const char c : body) {
      text +=
          c == '%' ? std::to_string(1'000'000'000 + random() % 9'000'000'000) : std::string(1, c);
    }
    std::string request = head;
    if (!text.empty()) request += "Content-Length: " + std::to_string(text.size()) + "\r\n";
    requests.push_back(request + "\r\n" + text);
  }
  return requests;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) Fail("usage: paced_load HOST:PORT RATE SECONDS CONNECTIONS TARGET [BODY]");
  const std::string body = argc > 6 ? argv[6] : "";
  const std::string head = (body.empty() ? "GET " : "POST ") + std::string(argv[5]) +
                           " HTTP/1.1\r\nHost: " + argv[1] + "\r\n";
  const double rate = std::atof(argv[2]), seconds = std::atof(argv[3]);
  const int connections = std::atoi(argv[4]);
  if (rate <= 0 || seconds <= 0 || connections < 1) {
    Fail("RATE, SECONDS and CONNECTIONS are numbers above 0");
  }
  Load load(argv[1], rate, seconds, static_cast<size_t>(connections));
  const bool good = load.Run(RequestsOf(head, body));
  load.Print();
  return good ? 0 : 1;
}
