#include "tests/engines/fault_control.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "weir/backends/open.h"
#include "weir/runtime/await.h"
#include "weir/zae_table/connection.h"
#include "weir/zae_table/table_admin.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kWait{30};

[[noreturn]] void Give(const std::string& message) {
  std::cerr << message << '\n';
  std::exit(1);
}

std::string Required(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) Give(fmt::format("{} is not set: run this by run.py --faults", name));
  return value;
}

int Connected() {
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(std::stoi(Required("WEIR_TEST_CONTROL"))));
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(file, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0)
    Give("WEIR_TEST_CONTROL does not answer");
  return file;
}

std::string ReadAll(int file) {
  std::string text;
  std::array<char, 4096> part;
  for (ssize_t got; (got = read(file, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  return text;
}

}  // namespace

std::string EngineUrl() { return Required("WEIR_TEST_DYNAMODB"); }
std::string ProxyUrl() { return Required("WEIR_TEST_PROXY"); }

std::string Tell(const std::string& line) {
  const int file = Connected();
  const std::string sent = line + "\n";
  if (write(file, sent.data(), sent.size()) != static_cast<ssize_t>(sent.size()))
    Give("WEIR_TEST_CONTROL does not listen");
  const std::string result = ReadAll(file);
  close(file);
  if (!result.starts_with("ok")) Give(fmt::format("'{}' was answered by: {}", line, result));
  return result.substr(2);
}

Counts TakeCounts() {
  Counts counts;
  std::istringstream words(Tell("counts"));
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    counts[word.substr(0, equals)] = std::stoi(word.substr(equals + 1));
  }
  return counts;
}

std::string MakeTable(const std::string& table, const std::string& endpoint) {
  const SystemClock clock;
  const auto connection =
      dynamo::Connection::Open({.table = table, .endpoint = endpoint}, clock, ProcessEnvironment());
  if (!connection) Give(connection.error().message);
  dynamo::Connection& there = **connection;
  dynamo::TableAdmin admin(there.table(), there.scheduler());
  const Deadline deadline = Deadline::After(clock, kWait);
  const auto created = Await<dynamo::TableCreated>(
      [&](auto done) { admin.Create("test", deadline, std::move(done)); });
  if (!created) Give(created.error().message);
  dynamo::Namespaces namespaces(there.table(), clock, dynamo::Connection::Random());
  const auto registered = Await<Namespace>(
      [&](auto done) { namespaces.Register("default", deadline, std::move(done)); });
  if (!registered) Give(registered.error().message);
  return fmt::format("dynamodb://{}?endpoint={}&namespace=default", table, endpoint);
}

}  // namespace weir
