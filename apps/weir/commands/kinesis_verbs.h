// The verbs that write records to a Kinesis stream and read them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "apps/weir/verbs.h"
#include "weir/aws/json_client.h"
#include "weir/kinesis/connection.h"
#include "weir/kinesis/producer_config.h"
#include "weir/kinesis/reader/stream_reader.h"
#include "weir/kinesis/wire/wire.h"
#include "weir/runtime/scheduler.h"

namespace weir::app {

/// A client of Kinesis, or of CloudWatch. All members outlive the work.
struct OpenedKinesis {
  JsonClient& client;
  Scheduler& scheduler;
  std::uint64_t seed;
};

using KinesisWork = std::function<Result<Exit>(const OpenedKinesis&)>;
/// Connects to the service that the options name and calls the work. Blocks.
using WithKinesis =
    std::function<Result<Exit>(Context&, const kinesis::ConnectionOptions&, const KinesisWork&)>;

/// Connects over the network.
Result<Exit> WithKinesisOfRegion(Context& context, const kinesis::ConnectionOptions& options,
                                 const KinesisWork& work);

/// The stream and its location.
struct StreamOptions {
  kinesis::StreamAddress stream;
  std::string endpoint;  ///< URL; empty: the region's endpoint
  std::string region;  ///< empty: the region of the stream's ARN, or the one that AWS's tools find
};
void AddStream(CLI::App& verb, StreamOptions& options);

/// Returns a usage error if --store is given, which the verb would ignore. `verb` is the verb's
/// last word, followed by the option to use instead, if there is one.
[[nodiscard]] Status RefuseStore(Context& context, std::string_view verb);

/// Returns the options of a connection for a producer with these settings, without the content
/// type. Options of the command line override the settings.
kinesis::ConnectionOptions ConnectionFor(const StreamOptions& stream,
                                         const kinesis::ProducerConfig& config);

/// Returns {"shard", "sequence_number", "sub_sequence_number", "partition_key", "data"} as one
/// line. Data that are not UTF-8 are in "data_base64" instead.
std::string JsonLineOf(const kinesis::StreamRecord& record);

/// See verbs.h. `with_kinesis` is called when a verb runs.
void AddKinesis(CLI::App& app, Action& chosen, const WithKinesis& with_kinesis);
void AddKinesisPut(CLI::App& group, Action& chosen, const WithKinesis& with_kinesis);
void AddKinesisCat(CLI::App& group, Action& chosen, const WithKinesis& with_kinesis);

}  // namespace weir::app
