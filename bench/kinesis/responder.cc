// A Kinesis without storage: every record that is put is reported as stored at once.
//
// usage: weir_bench_kinesis_responder [--verify]
//
// Prints its two ports, plain and TLS, and ends at the end of its standard input. GET /stats
// returns the counts. --verify parses aggregates by the rules of a consumer and counts the records
// that a consumer would receive.
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "bench/kinesis/channel.h"
#include "bench/kinesis/delivery.h"
#include "bench/kinesis/responses.h"

namespace weir::bench {
namespace {

constexpr std::size_t kMaxHead = std::size_t{64} << 10;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

double Seconds(timeval time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string StatsText(const Delivery& delivery) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const Delivery::Counts counts = delivery.counts();
  return fmt::format(R"({{"requests":{},"entries":{},"bytes":{},"cpu_s":{:.6f},)"
                     R"("delivered":{},"distinct":{},"lost":{}}})",
                     counts.requests, counts.entries, counts.bytes,
                     Seconds(used.ru_utime) + Seconds(used.ru_stime), counts.delivered,
                     counts.distinct, counts.lost);
}

struct Request {
  std::string_view head;
  std::string_view body;

  /// Returns the value of a header. `wanted` is its name in lower case.
  std::string_view Header(std::string_view wanted) const {
    for (std::size_t at = head.find("\r\n"); at != head.npos; at = head.find("\r\n", at + 2)) {
      const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
      if (line.size() <= wanted.size() || line[wanted.size()] != ':') continue;
      if (strncasecmp(line.data(), wanted.data(), wanted.size()) != 0) continue;
      std::string_view value = line.substr(wanted.size() + 1);
      value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
      return value;
    }
    return {};
  }
};

struct Response {
  int status = 200;
  Format format = Format::kJson;
  std::string body;
};

/// The requests of one connection, one after another.
class Conversation {
 public:
  Conversation(Channel& channel, Delivery& delivery) : channel_(channel), delivery_(delivery) {}

  void Run() {
    while (const auto request = Next()) {
      if (!Write(ResponseTo(*request))) return;
    }
  }

 private:
  std::optional<Request> Next() {
    Drop();
    std::size_t end = 0;
    while ((end = Held().find(kHeadEnd)) == std::string_view::npos) {
      if (held_ > kMaxHead || !Fill(std::max(held_ + 4096, kMaxHead))) return std::nullopt;
    }
    const std::size_t head = end + kHeadEnd.size();
    const Request begun{Held().substr(0, end + 2), {}};
    std::size_t body = 0;
    const std::string_view length = begun.Header("content-length");
    std::from_chars(length.data(), length.data() + length.size(), body);
    if (!begun.Header("expect").empty() && !channel_.Write("HTTP/1.1 100 Continue\r\n\r\n")) {
      return std::nullopt;
    }
    while (held_ < head + body) {
      if (!Fill(head + body)) return std::nullopt;
    }
    used_ = head + body;
    return Request{Held().substr(0, end + 2), Held().substr(head, body)};
  }

  std::string_view Held() const { return {buffer_.data(), held_}; }

  void Drop() {
    std::memmove(buffer_.data(), buffer_.data() + used_, held_ - used_);
    held_ -= used_;
    used_ = 0;
  }

  /// Reads once more, into a buffer of at least `size` bytes.
  bool Fill(std::size_t size) {
    if (buffer_.size() < size) buffer_.resize(size);
    const std::size_t got = channel_.Read(buffer_.data() + held_, buffer_.size() - held_);
    held_ += got;
    return got > 0;
  }

  Response ResponseTo(const Request& request) {
    if (request.head.starts_with("GET /stats ")) return {200, Format::kJson, StatsText(delivery_)};
    const std::string_view type = request.Header("content-type");
    const Format format =
        type.find("cbor") == std::string_view::npos ? Format::kJson : Format::kCbor;
    const std::string_view target = request.Header("x-amz-target");
    const std::string_view operation = target.substr(target.find('.') + 1);
    if (operation == "PutRecords") return PutRecords(request.body, format);
    if (operation == "ListShards") return {200, format, ListShardsResponse(format)};
    if (operation.starts_with("DescribeStream")) return {200, format, DescribeResponse(operation)};
    return {400, Format::kJson, R"({"__type":"UnknownOperationException"})"};
  }

  Response PutRecords(std::string_view body, Format format) {
    const bool found =
        format == Format::kJson ? FindJsonEntries(body, entries_) : FindCborEntries(body, entries_);
    shards_.resize(entries_.size());
    std::ranges::transform(entries_, shards_.begin(), ShardOf);
    if (!found || std::ranges::count(shards_, -1) != 0) {
      return {400, Format::kJson, R"({"__type":"SerializationException"})"};
    }
    delivery_.Take(format, body.size(), entries_, shards_);
    return {200, format, PutRecordsResponse(format, shards_)};
  }

  bool Write(const Response& response) {
    static constexpr std::string_view kId = "00000000-0000-0000-0000-000000000000";
    return channel_.Write(
        fmt::format("HTTP/1.1 {} {}\r\nx-amzn-RequestId: {}\r\nContent-Type: {}\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    response.status, response.status == 200 ? "OK" : "Bad Request", kId,
                    ContentType(response.format), response.body.size(), response.body));
  }

  Channel& channel_;
  Delivery& delivery_;
  std::string buffer_;
  std::size_t held_ = 0;  // bytes in the buffer
  std::size_t used_ = 0;  // how many of these bytes belong to the last request
  std::vector<Entry> entries_;
  std::vector<int> shards_;
};

/// Runs a thread for each connection, from its start to the responder's end.
class Responder {
 public:
  explicit Responder(bool verify) : delivery_(verify) {}
  ~Responder() {
    for (const auto& channel : channels_) channel->Stop();
    threads_.clear();
  }
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  void Run() {
    fmt::print("{} {}\n", plain_.port, secure_.port);
    std::fflush(stdout);
    pollfd waits[] = {
        {plain_.descriptor, POLLIN, 0}, {secure_.descriptor, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    while (poll(waits, std::size(waits), -1) > 0 && waits[2].revents == 0) {
      if (waits[0].revents != 0) Serve(std::make_unique<Channel>(Accept(plain_)));
      if (waits[1].revents != 0) Serve(tls_.Accept(Accept(secure_)));
    }
  }

 private:
  static int Accept(const Listener& listener) {
    return accept4(listener.descriptor, nullptr, nullptr, SOCK_CLOEXEC);
  }

  void Serve(std::unique_ptr<Channel> accepted) {
    Channel& channel = *channels_.emplace_back(std::move(accepted));
    threads_.emplace_back([this, &channel] {
      Conversation(channel, delivery_).Run();
      channel.Stop();
      OPENSSL_thread_stop();
    });
  }

  Delivery delivery_;
  Listener plain_;
  Listener secure_;
  TlsServer tls_;
  std::list<std::unique_ptr<Channel>> channels_;
  std::list<std::jthread> threads_;
};

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  weir::bench::Responder(argc == 2 && std::strcmp(argv[1], "--verify") == 0).Run();
  return 0;
}
