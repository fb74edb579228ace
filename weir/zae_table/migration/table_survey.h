// Texts on a table: how it differs from one of the present schema, and what an upgrade would do.
#pragma once

#include <string>
#include <vector>

#include "weir/zae_table/table_admin.h"

namespace weir::dynamo {

struct SurveyLines {
  /// One line for each difference from a table that Create makes, and for each kind of items that
  /// has to be migrated.
  std::vector<std::string> differences{};
  /// Facts that need no action: items that will expire, and items that Weir does not support.
  std::vector<std::string> notes{};
  /// What an upgrade would do, by schema version.
  std::vector<std::string> upgrade{};
};
SurveyLines LinesOf(const TableSurvey& survey);

}  // namespace weir::dynamo
