#include "weir/zae_table/version.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "weir/codec/iso_time.h"
#include "weir/dynamodb/done_chain.h"
#include "weir/model/quoted.h"
#include "weir/zae_table/keys.h"

namespace weir::dynamo {
namespace {

// Removes a number from the front. Returns false if there is none.
bool TakeNumber(std::string_view& text, int& number) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}

bool TakeMark(std::string_view& text, std::string_view mark) {
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(mark.size());
  return true;
}

bool IsPreRelease(std::string_view text) {
  constexpr std::string_view kAllowed =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-";
  return !text.empty() && text.find_first_not_of(kAllowed) == text.npos;
}

// Reads the text after the three numbers. Returns false if no version ends like that.
bool ReadEnding(std::string_view rest, Version& version) {
  rest = rest.substr(0, rest.find('+'));
  if (rest.empty()) return true;
  version.is_release = false;
  if (rest.starts_with(".dev")) {
    version.pre_release = "dev";
    return true;
  }
  version.pre_release = rest.substr(1);
  return rest[0] == '-' && IsPreRelease(version.pre_release);
}

std::array<int, 3> NumbersOf(const Version& version) {
  return {version.major, version.minor, version.patch};
}

std::optional<std::string> TextIn(const Item& item, std::string_view name) {
  const std::string* text = GetText(item, name);
  return text == nullptr ? std::nullopt : std::optional(*text);
}

tl::unexpected<Error> Unfit(std::string what) {
  return Fail(Code::kFailedPrecondition, std::move(what));
}

}  // namespace

std::optional<Version> ParseVersion(std::string_view text) {
  Version version;
  TakeMark(text, "v");
  const bool numbered = TakeNumber(text, version.major) && TakeMark(text, ".") &&
                        TakeNumber(text, version.minor) && TakeMark(text, ".") &&
                        TakeNumber(text, version.patch);
  if (!numbered || !ReadEnding(text, version)) return std::nullopt;
  return version;
}

VersionInfo ReadVersion(const Item& record) {
  const std::optional<std::string> updated = TextIn(record, "updated_at");
  return {.schema = TextIn(record, "schema_version").value_or(""),
          .client_min = TextIn(record, "client_min_version").value_or("0.0.0"),
          .lambda = TextIn(record, "lambda_version"),
          .updated_at = updated ? ParseIso(*updated) : std::nullopt,
          .updated_by = TextIn(record, "updated_by")};
}

Item NewVersionRecord(UnixMillis now, std::string_view by) {
  Item record = ToItem(VersionRecord());
  record.emplace("schema_version", Of(kSchemaVersion));
  record.emplace("client_min_version", Of("0.0.0"));
  record.emplace("lambda_version", Value{Null{}});
  record.emplace("updated_at", Of(FormatIso(now)));
  record.emplace("updated_by", by.empty() ? Value{Null{}} : Of(by));
  record.emplace("GSI4PK", Of(kTableNamespace));
  record.emplace("GSI4SK", Of(VersionRecord().pk));
  return record;
}

Status CheckVersion(const VersionInfo& info) {
  const Version ours = *ParseVersion(kCompatibility);
  const std::optional<Version> schema = ParseVersion(info.schema);
  if (!schema) {
    return Unfit(
        fmt::format("the table's schema_version {} is not a version; expected one "
                    "like {}",
                    Quoted(info.schema), kSchemaVersion));
  }
  const std::optional<Version> client_min = ParseVersion(info.client_min);
  if (!client_min) {
    return Unfit(
        fmt::format("the table's client_min_version {} is not a version; expected one "
                    "like {}",
                    Quoted(info.client_min), kCompatibility));
  }
  if (*client_min > ours) {
    return Unfit(
        fmt::format("the table requires clients of version {} or later, and this one is "
                    "compatible with {}: use a newer one",
                    info.client_min, kCompatibility));
  }
  if (schema->major == ours.major) return {};
  return Unfit(
      fmt::format("the table's schema is {}, and this client knows {}: it must be "
                  "migrated, or another table used",
                  info.schema, kSchemaVersion));
}

std::optional<Write> RaiseClientMin(const Item& record, std::string_view release) {
  const auto stored = ParseVersion(ReadVersion(record).client_min);
  // OpenCheck refuses a minimum that is not a version.
  if (!stored || *stored >= *ParseVersion(release)) return std::nullopt;
  Write write{.kind = Write::Kind::kUpdate, .key = VersionRecord(), .item = {}};
  write.expression.RequireExists("PK")
      .RequireSameAs(record, "client_min_version")
      .Set("client_min_version", Of(release));
  return write;
}

Status CheckAggregator(const VersionInfo& info, std::string_view release) {
  const auto aggregator = info.lambda ? ParseVersion(*info.lambda) : std::nullopt;
  if (!aggregator || NumbersOf(*aggregator) >= NumbersOf(*ParseVersion(release))) return {};
  return Unfit(fmt::format(
      "the table's aggregator has version {}, and this change needs version {} or later: update it "
      "first, or, if no aggregator of zae-limiter runs on this table, remove the version with "
      "'weir table upgrade --no-zae-aggregator'",
      *info.lambda, release));
}

Error NoSuchTable(std::string_view table) {
  return {Code::kNotFound,
          fmt::format("there is no table {}: 'weir table create' creates it", table)};
}

std::string NoVersionRecord(std::string_view table) {
  return fmt::format("table {} has no version record: 'weir table create' adds it", table);
}

void OpenCheck(Table& table, Deadline deadline, Done<VersionInfo> done) {
  table.Get(
      VersionRecord(), deadline,
      [name = table.name(), done = std::move(done)](Result<std::optional<Item>> record) mutable {
        if (!record && record.error().code == Code::kNotFound) return done(Fail(NoSuchTable(name)));
        if (!record) return done(Fail(std::move(record.error())));
        if (!*record) {
          return done(Unfit(NoVersionRecord(name)));
        }
        VersionInfo info = ReadVersion(**record);
        if (Status fit = CheckVersion(info); !fit) return done(Fail(std::move(fit.error())));
        done(std::move(info));
      });
}

}  // namespace weir::dynamo
