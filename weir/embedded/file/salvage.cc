#include "weir/embedded/file/salvage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace weir {
namespace {

bool FitsColumn(const TableShape::Column& column, const sqlite::RecordValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return column.may_be_null || column.is_row_id;
  return column.is_text == std::holds_alternative<std::string>(value) && !column.is_row_id;
}

Result<std::vector<TableShape::Column>> ColumnsOf(sqlite::Connection& connection,
                                                  const std::string& table, bool has_row_ids) {
  WEIR_ASSIGN_OR_RETURN(
      auto rows,
      connection.Prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?)"));
  rows.Bind(1, table);
  std::vector<TableShape::Column> columns;
  Result<bool> row = true;
  while ((row = rows.Step()) && *row) {
    const bool is_text = rows.Text(1) == "TEXT";
    columns.push_back({.name = std::string(rows.Text(0)),
                       .is_text = is_text,
                       .may_be_null = rows.Integer(2) == 0,
                       .is_row_id = has_row_ids && !is_text && rows.Integer(3) != 0});
  }
  if (!row) return Fail(std::move(row.error()));
  return columns;
}

// Writes records into one table.
class TableWriter {
 public:
  static Result<TableWriter> Make(sqlite::Connection& into, TableShape shape) {
    std::vector<std::string> names;
    names.reserve(shape.columns.size());
    for (const TableShape::Column& column : shape.columns) names.push_back('"' + column.name + '"');
    TableWriter writer(std::move(shape));
    const std::string marks =
        fmt::format("{}", fmt::join(std::vector<std::string>(names.size(), "?"), ", "));
    WEIR_ASSIGN_OR_RETURN(writer.insert_, into.Prepare(fmt::format(
                                              "INSERT OR IGNORE INTO \"{}\"({}) VALUES({})",
                                              writer.shape_.table, fmt::join(names, ", "), marks)));
    return writer;
  }

  const TableShape& shape() const { return shape_; }

  Status Write(const sqlite::Record& record) {
    for (std::size_t i = 0; i < shape_.columns.size(); ++i) {
      const int parameter = static_cast<int>(i) + 1;
      insert_->BindNull(parameter);
      if (i >= record.values.size()) continue;
      if (shape_.columns[i].is_row_id) {
        insert_->Bind(parameter, record.row_id);
      } else if (const auto* number = std::get_if<std::int64_t>(&record.values[i])) {
        insert_->Bind(parameter, *number);
      } else if (const auto* text = std::get_if<std::string>(&record.values[i])) {
        insert_->Bind(parameter, std::string_view(*text));
      }
    }
    return insert_->Run();
  }

 private:
  explicit TableWriter(TableShape shape) : shape_(std::move(shape)) {}

  TableShape shape_;
  std::optional<sqlite::Statement> insert_;
};

// The tables and indexes of one version of the format.
struct Version {
  std::span<const Migration> migrations;
  std::vector<TableShape> shapes;
  std::uint64_t unfit = 0;  // number of records that do not fit any shape
};

Result<Version> MakeVersion(std::span<const Migration> migrations) {
  Version version{.migrations = migrations, .shapes = {}};
  WEIR_ASSIGN_OR_RETURN(auto connection, sqlite::Connection::OpenInMemory());
  WEIR_RETURN_IF_ERROR(PrepareSchema(connection, migrations));
  WEIR_ASSIGN_OR_RETURN(version.shapes, ShapesOf(connection));
  WEIR_ASSIGN_OR_RETURN(const auto derived, DerivedShapesOf(connection));
  version.shapes.insert(version.shapes.end(), derived.begin(), derived.end());
  return version;
}

bool FitsAny(const std::vector<TableShape>& shapes, const sqlite::Record& record) {
  return std::ranges::any_of(shapes, [&](const TableShape& shape) { return shape.Fits(record); });
}

// Returns the version whose tables most records fit. If several versions fit equally well, returns
// the one that the file claims to have, or else the newest.
Result<std::span<const Migration>> VersionOf(const sqlite::PageFile& damaged,
                                             std::span<const Migration> migrations) {
  std::vector<Version> versions;
  for (std::size_t count = migrations.size(); count > 0; --count) {
    WEIR_ASSIGN_OR_RETURN(Version version, MakeVersion(migrations.first(count)));
    const bool is_claimed = damaged.user_version() == version.migrations.back().version;
    versions.insert(is_claimed ? versions.begin() : versions.end(), std::move(version));
  }
  (void)sqlite::ScanRecords(damaged, [&](const sqlite::Record& record) {
    for (Version& version : versions) {
      if (!FitsAny(version.shapes, record)) ++version.unfit;
    }
  });
  // Of equals, min_element returns the first: `versions` is in the order of preference.
  return std::ranges::min_element(versions, {}, &Version::unfit)->migrations;
}

Result<std::vector<TableWriter>> WritersFor(sqlite::Connection& into) {
  WEIR_ASSIGN_OR_RETURN(std::vector<TableShape> shapes, ShapesOf(into));
  std::vector<TableWriter> writers;
  for (TableShape& shape : shapes) {
    WEIR_ASSIGN_OR_RETURN(TableWriter writer, TableWriter::Make(into, std::move(shape)));
    writers.push_back(std::move(writer));
  }
  return writers;
}

Status CopyRecords(const sqlite::PageFile& damaged, sqlite::Connection& into, Salvaged& salvaged) {
  WEIR_ASSIGN_OR_RETURN(std::vector<TableWriter> writers, WritersFor(into));
  WEIR_ASSIGN_OR_RETURN(const std::vector<TableShape> derived, DerivedShapesOf(into));
  Status written;
  salvaged.scan = sqlite::ScanRecords(damaged, [&](const sqlite::Record& record) {
    const auto writer = std::ranges::find_if(
        writers, [&](const TableWriter& one) { return one.shape().Fits(record); });
    if (writer == writers.end()) {
      if (!FitsAny(derived, record)) ++salvaged.unknown;
    } else if (written) {
      written = writer->Write(record);
    }
  });
  return written;
}

Status CountRows(sqlite::Connection& connection, Salvaged& salvaged) {
  WEIR_ASSIGN_OR_RETURN(const std::vector<TableShape> shapes, ShapesOf(connection));
  for (const TableShape& shape : shapes) {
    WEIR_ASSIGN_OR_RETURN(
        const std::int64_t rows,
        connection.QueryInteger(fmt::format("SELECT count(*) FROM \"{}\"", shape.table)));
    salvaged.rows[shape.table] = static_cast<std::uint64_t>(rows);
  }
  return {};
}

}  // namespace

bool TableShape::Fits(const sqlite::Record& record) const {
  if (record.has_row_id != has_row_ids || record.values.size() > columns.size()) return false;
  for (std::size_t i = 0; i < record.values.size(); ++i) {
    if (!FitsColumn(columns[i], record.values[i])) return false;
  }
  // Older records lack columns that were added later.
  return std::all_of(columns.begin() + static_cast<std::ptrdiff_t>(record.values.size()),
                     columns.end(), [](const Column& column) { return column.may_be_null; });
}

Result<std::vector<TableShape>> ShapesOf(sqlite::Connection& connection) {
  WEIR_ASSIGN_OR_RETURN(
      auto rows,
      connection.Prepare("SELECT name, sql NOT LIKE '%WITHOUT ROWID%' FROM sqlite_schema "
                         "WHERE type = 'table' ORDER BY name"));
  std::vector<TableShape> shapes;
  Result<bool> row = true;
  while ((row = rows.Step()) && *row) {
    TableShape shape{.table = std::string(rows.Text(0)), .has_row_ids = rows.Integer(1) != 0};
    WEIR_ASSIGN_OR_RETURN(shape.columns, ColumnsOf(connection, shape.table, shape.has_row_ids));
    shapes.push_back(std::move(shape));
  }
  if (!row) return Fail(std::move(row.error()));
  return shapes;
}

Result<std::vector<TableShape>> DerivedShapesOf(sqlite::Connection& connection) {
  // Selects, for each index, the types of its columns. The last columns are those of the primary
  // key.
  WEIR_ASSIGN_OR_RETURN(
      auto rows,
      connection.Prepare("SELECT i.name, c.type, c.\"notnull\" FROM sqlite_schema AS i, "
                         "pragma_index_xinfo(i.name) AS x, pragma_table_info(i.tbl_name) AS c "
                         "WHERE i.type = 'index' AND i.sql IS NOT NULL AND c.cid = x.cid "
                         "ORDER BY i.name, x.seqno"));
  const TableShape::Column text = {.name = {}, .is_text = true};
  TableShape schema{.table = "sqlite_schema", .has_row_ids = true, .columns = std::vector(5, text)};
  schema.columns[3].is_text = false;
  schema.columns[4].may_be_null = true;
  std::vector<TableShape> shapes = {std::move(schema)};
  Result<bool> row = true;
  while ((row = rows.Step()) && *row) {
    if (shapes.back().table != rows.Text(0)) shapes.push_back({.table = std::string(rows.Text(0))});
    shapes.back().columns.push_back(
        {.name = {}, .is_text = rows.Text(1) == "TEXT", .may_be_null = rows.Integer(2) == 0});
  }
  if (!row) return Fail(std::move(row.error()));
  return shapes;
}

Result<Salvaged> Salvage(const sqlite::PageFile& damaged, std::span<const Migration> migrations,
                         sqlite::Connection& into) {
  Salvaged salvaged;
  WEIR_ASSIGN_OR_RETURN(const auto version, VersionOf(damaged, migrations));
  WEIR_RETURN_IF_ERROR(PrepareSchema(into, version));
  WEIR_RETURN_IF_ERROR(into.InTransaction([&] { return CopyRecords(damaged, into, salvaged); }));
  WEIR_RETURN_IF_ERROR(PrepareSchema(into, migrations));
  WEIR_RETURN_IF_ERROR(CountRows(into, salvaged));
  return salvaged;
}

}  // namespace weir
