// Puts lines of standard input into a Kinesis stream, with a configuration of the Kinesis Producer
// Library. Explained in docs/coming-from-kpl.md.
//
//   kinesis_producer STREAM < lines
//
// KINESIS_PROPERTIES names a properties file. Region, credentials and endpoint are found as by
// AWS's tools.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "weir/dynamodb.h"
#include "weir/kinesis.h"

namespace {

using namespace weir;  // NOLINT(google-build-using-namespace): an example

Result<kinesis::ProducerConfig> ReadConfig(const char* path) {
  if (path == nullptr) return kinesis::ProducerConfig{};
  std::ifstream file(path);
  if (!file) return Fail(Code::kNotFound, std::string("cannot read ") + path);
  std::ostringstream text;
  text << file.rdbuf();
  WEIR_ASSIGN_OR_RETURN(const auto loaded, kinesis::ParseProperties(text.str()));
  for (const std::string& name : loaded.ignored) std::cerr << "ignored: " << name << '\n';
  for (const std::string& name : loaded.unknown) std::cerr << "unknown: " << name << '\n';
  return loaded.config;
}

Status PutLines(kinesis::Producer& producer, const std::string& name) {
  WEIR_ASSIGN_OR_RETURN(kinesis::Producer::Stream* const stream,
                        producer.Open({.name = name, .arn = {}}));
  std::string line;
  for (std::uint64_t number = 0; std::getline(std::cin, line); ++number) {
    kinesis::Record record{.partition_key = std::to_string(number), .data = line};
    // Waits if the producer is full. The result follows later, on a thread of the connection.
    const auto report = [number](const kinesis::RecordResult& result) {
      if (!result.stored) std::cerr << "line " << number << " is not stored\n";
    };
    WEIR_RETURN_IF_ERROR(producer.Put(*stream, std::move(record), report));
  }
  return {};
}

Status Run(const std::string& stream) {
  const SystemClock clock;
  WEIR_ASSIGN_OR_RETURN(const auto config, ReadConfig(std::getenv("KINESIS_PROPERTIES")));
  kinesis::ConnectionOptions options = kinesis::ConnectionFor(config);
  options.content_type = kinesis::ContentType(config.wire);
  WEIR_ASSIGN_OR_RETURN(const auto connection,
                        kinesis::Connect(options, clock, ProcessEnvironment()));
  kinesis::Producer producer({connection->client(), connection->scheduler()}, config, SystemSeed());
  WEIR_RETURN_IF_ERROR(PutLines(producer, stream));
  WEIR_RETURN_IF_ERROR(producer.Close(Deadline::After(clock, std::chrono::minutes(1))));
  std::cout << producer.stats().stored << " stored, " << producer.stats().failed << " failed\n";
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: kinesis_producer STREAM < lines\n";
    return 2;
  }
  const Status done = Run(arguments[1]);
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
