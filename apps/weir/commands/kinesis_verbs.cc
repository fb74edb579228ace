// weir kinesis: functions that its verbs share.
#include "apps/weir/commands/kinesis_verbs.h"

#include <fmt/format.h>

#include "apps/weir/options.h"
#include "weir/base/rng.h"
#include "weir/kinesis/stream_address.h"

namespace weir::app {
namespace {

std::string FirstOf(const std::string& first, const std::string& second, const std::string& third) {
  if (!first.empty()) return first;
  return second.empty() ? third : second;
}

}  // namespace

void AddStream(CLI::App& verb, StreamOptions& options) {
  AddParsed(verb, "--stream", options.stream, kinesis::ParseStreamAddress,
            "the name or ARN of the stream")
      ->required()
      ->option_text("S");
  verb.add_option("--endpoint", options.endpoint,
                  "the endpoint of Kinesis (default: that of the region)")
      ->option_text("URL");
  verb.add_option("--region", options.region,
                  "the region of the stream (default: that of its ARN, or of AWS's settings)")
      ->option_text("R");
}

kinesis::ConnectionOptions ConnectionFor(const StreamOptions& stream,
                                         const kinesis::ProducerConfig& config) {
  kinesis::ConnectionOptions options = kinesis::ConnectionFor(config);
  options.region = FirstOf(stream.region, options.region, kinesis::RegionOf(stream.stream));
  if (!stream.endpoint.empty()) options.endpoint_url = stream.endpoint;
  return options;
}

Status RefuseStore(Context& context, std::string_view verb) {
  if (!context.common().store) return {};
  context.failure = Exit::kUsage;
  return Fail(Code::kInvalidArgument,
              fmt::format("--store means nothing to kinesis {}; omit --store", verb));
}

Result<Exit> WithKinesisOfRegion(Context& context, const kinesis::ConnectionOptions& options,
                                 const KinesisWork& work) {
  kinesis::ConnectionOptions logged = options;
  logged.log = &context.log();
  auto connection =
      kinesis::Connect(logged, context.process().clock, HostEnvironmentOf(context.process()));
  if (!connection) {
    const bool usage = connection.error().code == Code::kInvalidArgument;
    if (usage) context.failure = Exit::kUsage;
    return Fail(connection.error());
  }
  return work({.client = (*connection)->client(),
               .scheduler = (*connection)->scheduler(),
               .seed = SystemSeed()});
}

void AddKinesis(CLI::App& app, Action& chosen, const WithKinesis& with_kinesis) {
  CLI::App& group = AddGroup(app, "kinesis", "Put records into a Kinesis stream, and read them");
  AddKinesisPut(group, chosen, with_kinesis);
  AddKinesisCat(group, chosen, with_kinesis);
}

}  // namespace weir::app
