#include "weir/zae_table/table_features.h"

#include <fmt/format.h>

#include "weir/zae_table/version.h"

namespace weir::dynamo {
namespace {

constexpr std::string_view kUnknownOperation = "UnknownOperationException";

std::string BodyOf(const Table& table, std::string_view more = "") {
  std::string body = R"({"TableName":)";
  AppendJson(body, std::string_view(table.name()));
  return fmt::format("{}{}}}", body, more);
}

bool IsOn(std::string_view status) { return status == "ENABLED" || status == "ENABLING"; }

// Returns a callback that reports what `read` returns for the body, or `not_offered` if the engine
// does not know the operation.
template <class T, class Read>
JsonDone Offered(Done<T> done, T not_offered, Read read) {
  return [done = std::move(done), not_offered = std::move(not_offered),
          read](tl::expected<JsonReply, AwsFailure> reply) mutable {
    if (reply) return done(read(reply->body));
    if (reply.error().code == kUnknownOperation) return done(std::move(not_offered));
    done(Fail(ToError(reply.error())));
  };
}

}  // namespace

void DescribeTable(Table& table, Deadline deadline, Done<TableDescription> done) {
  auto on_reply = [name = table.name(), done = std::move(done)](Result<std::string> body) mutable {
    if (body) return done(ReadDescription(*body));
    const bool is_missing = body.error().code == Code::kNotFound;
    done(Fail(is_missing ? NoSuchTable(name) : std::move(body.error())));
  };
  table.Call("DescribeTable", BodyOf(table), deadline, std::move(on_reply));
}

void ReadTimeToLive(Table& table, Deadline deadline, Done<TimeToLive> done) {
  const auto read = [](const std::string& body) {
    const std::string prefix = "TimeToLiveDescription.";
    const std::string status = ReadText(body, prefix + "TimeToLiveStatus").value_or("");
    if (!IsOn(status)) return TimeToLive{};
    return TimeToLive{Feature::kOn, ReadText(body, prefix + "AttributeName").value_or("")};
  };
  table.CallForCode("DescribeTimeToLive", BodyOf(table), deadline,
                    Offered(std::move(done), TimeToLive{Feature::kNotOffered, ""}, read));
}

void ReadRecovery(Table& table, Deadline deadline, Done<Feature> done) {
  const auto read = [](const std::string& body) {
    const std::optional<std::string> status =
        ReadText(body,
                 "ContinuousBackupsDescription.PointInTimeRecoveryDescription."
                 "PointInTimeRecoveryStatus");
    return status && IsOn(*status) ? Feature::kOn : Feature::kOff;
  };
  table.CallForCode("DescribeContinuousBackups", BodyOf(table), deadline,
                    Offered(std::move(done), Feature::kNotOffered, read));
}

void TurnOnTimeToLive(Table& table, std::string_view attribute, Deadline deadline,
                      Done<Feature> done) {
  const std::string more = fmt::format(
      R"(,"TimeToLiveSpecification":{{"AttributeName":"{}","Enabled":true}})", attribute);
  table.CallForCode("UpdateTimeToLive", BodyOf(table, more), deadline,
                    Offered(std::move(done), Feature::kNotOffered,
                            [](const std::string&) { return Feature::kOn; }));
}

void TurnOnRecovery(Table& table, Deadline deadline, Done<std::optional<Feature>> done) {
  constexpr std::string_view kMore =
      R"(,"PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true})";
  auto on_reply = [done = std::move(done)](tl::expected<JsonReply, AwsFailure> reply) mutable {
    if (reply) return done(Feature::kOn);
    const std::string& code = reply.error().code;
    if (code == kUnknownOperation) return done(Feature::kNotOffered);
    if (code == "ContinuousBackupsUnavailableException") return done(std::nullopt);
    done(Fail(ToError(reply.error())));
  };
  table.CallForCode("UpdateContinuousBackups", BodyOf(table, kMore), deadline, std::move(on_reply));
}

}  // namespace weir::dynamo
