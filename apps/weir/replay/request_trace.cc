#include "apps/weir/replay/request_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "apps/weir/arguments.h"
#include "apps/weir/replay/csv_line.h"
#include "weir/model/identifier.h"
#include "weir/model/limit.h"
#include "weir/model/quoted.h"

namespace weir::app {
namespace {

std::vector<std::string_view> SplitAtCommas(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == line.npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

tl::unexpected<Error> ErrorInColumn(std::string_view column, const Error& error) {
  return Fail(Code::kInvalidArgument, fmt::format("column {}: {}", column, error.message));
}

/// A column of each row, or a constant number.
struct TakenFrom {
  std::string limit;
  std::string column;
  std::optional<std::size_t> index;  ///< of the column; nothing: the number
  Tokens tokens{};
};

/// Reads rows by the indexes of the header's columns.
class RequestReader {
 public:
  static Result<RequestReader> Make(const TraceColumns& columns, const CsvFields& header) {
    RequestReader reader(columns);
    reader.width_ = header.size();
    WEIR_ASSIGN_OR_RETURN(reader.time_, IndexOfColumn(columns.time, header));
    WEIR_ASSIGN_OR_RETURN(reader.entity_, IndexOfColumn(columns.entity, header));
    WEIR_ASSIGN_OR_RETURN(reader.resource_, IndexOfColumn(columns.resource, header));
    for (const TraceColumns::Taken& taken : columns.amounts) {
      WEIR_ASSIGN_OR_RETURN(TakenFrom from, FromOf(taken, header));
      reader.amounts_.push_back(std::move(from));
    }
    return reader;
  }

  Result<TracedRequest> Read(std::string_view line) const {
    WEIR_ASSIGN_OR_RETURN(const CsvFields fields, SplitCsvLine(line));
    if (fields.size() != width_) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("{} fields; write {}, as in the header", fields.size(), width_));
    }
    TracedRequest request{.entity = fields[entity_], .resource = fields[resource_]};
    const Result<UnixMillis> at = ParseTime(fields[time_]);
    if (!at) return ErrorInColumn(columns_.time, at.error());
    request.at = *at;
    const Status entity = CheckEntityId(request.entity);
    if (!entity) return ErrorInColumn(columns_.entity, entity.error());
    const Status resource = CheckResource(request.resource);
    if (!resource) return ErrorInColumn(columns_.resource, resource.error());
    WEIR_ASSIGN_OR_RETURN(request.amounts, AmountsIn(fields));
    return request;
  }

 private:
  explicit RequestReader(TraceColumns columns) : columns_(std::move(columns)) {}

  static Result<std::size_t> IndexOfColumn(std::string_view column, const CsvFields& header) {
    const auto found = std::ranges::find(header, column);
    if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
    return Fail(
        Code::kInvalidArgument,
        fmt::format("the header has no column {}; name one with --columns", Quoted(column)));
  }

  static Result<TakenFrom> FromOf(const TraceColumns::Taken& taken, const CsvFields& header) {
    const Result<std::size_t> index = IndexOfColumn(taken.column, header);
    if (index) return TakenFrom{taken.limit, taken.column, *index};
    const Result<std::int64_t> number = ParseTokens(taken.column);
    if (!number || *number < 0) return Fail(index.error());
    return TakenFrom{taken.limit, taken.column, std::nullopt, Tokens::Milli(*number)};
  }

  Result<Amounts> AmountsIn(const CsvFields& fields) const {
    Amounts amounts;
    for (const TakenFrom& from : amounts_) {
      amounts.push_back({from.limit, from.tokens});
      if (!from.index) continue;
      const std::string_view text = fields[*from.index];
      const Result<std::int64_t> milli = ParseTokens(text);
      if (!milli || *milli < 0) {
        return Fail(Code::kInvalidArgument, fmt::format("column {}: {} is not an amount; write a "
                                                        "number from 0 with up to "
                                                        "three decimals",
                                                        from.column, Quoted(text)));
      }
      amounts.back().tokens = Tokens::Milli(*milli);
    }
    return amounts;
  }

  TraceColumns columns_;
  std::size_t width_ = 0;
  std::size_t time_ = 0;
  std::size_t entity_ = 0;
  std::size_t resource_ = 0;
  std::vector<TakenFrom> amounts_;
};

Status AddColumn(std::string_view text, TraceColumns& columns) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (equals == text.npos || equals + 1 == text.size()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} names no column; write time=COLUMN, entity=COLUMN, "
                            "resource=COLUMN or LIMIT=COLUMN",
                            Quoted(text)));
  }
  std::string column(text.substr(equals + 1));
  if (name == "time")
    columns.time = std::move(column);
  else if (name == "entity")
    columns.entity = std::move(column);
  else if (name == "resource")
    columns.resource = std::move(column);
  else {
    WEIR_RETURN_IF_ERROR(CheckLimitName(name));
    if (std::ranges::find(columns.amounts, name, &TraceColumns::Taken::limit) !=
        columns.amounts.end()) {
      return Fail(Code::kInvalidArgument, fmt::format("limit {} is given twice", name));
    }
    columns.amounts.push_back({std::string(name), std::move(column)});
  }
  return {};
}

}  // namespace

Result<TraceColumns> ParseTraceColumns(std::string_view text) {
  TraceColumns columns{.time = "time", .entity = "entity", .resource = "resource", .amounts = {}};
  for (const std::string_view part : SplitAtCommas(text)) {
    WEIR_RETURN_IF_ERROR(AddColumn(part, columns));
  }
  if (!columns.amounts.empty()) return columns;
  return Fail(Code::kInvalidArgument,
              fmt::format("{} names no limit; write LIMIT=COLUMN or LIMIT=NUMBER, like rpm=1",
                          Quoted(text)));
}

Result<std::vector<TracedRequest>> ParseRequests(std::string_view text, std::string_view file_name,
                                                 const TraceColumns& columns) {
  std::vector<TracedRequest> requests;
  std::size_t number = 1;
  const auto bad = [&](std::string_view what) {
    return Fail(Code::kInvalidArgument, fmt::format("{}:{}: {}", file_name, number, what));
  };
  RemoveByteOrderMark(text);
  const Result<CsvFields> header = SplitCsvLine(NextCsvLine(text));
  if (!header) return bad(header.error().message);
  const Result<RequestReader> reader = RequestReader::Make(columns, *header);
  if (!reader) return bad(reader.error().message);
  while (!text.empty()) {
    ++number;
    Result<TracedRequest> request = reader->Read(NextCsvLine(text));
    if (!request) return bad(request.error().message);
    if (!requests.empty() && request->at < requests.back().at) {
      return bad("earlier than the row above; put the rows in order of time");
    }
    requests.push_back(*std::move(request));
  }
  if (requests.empty()) return bad("no requests; write at least one row");
  return requests;
}

}  // namespace weir::app
