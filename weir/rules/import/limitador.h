// The limits of Kuadrant's limitador as rules.
#pragma once

#include <string_view>

#include "weir/base/result.h"
#include "weir/rules/import/imported_rules.h"

namespace weir::rules {

/// Reads a limits file of limitador (github.com/Kuadrant/limitador, limitador-server/README.md: a
/// list of namespace, max_value, seconds, conditions, variables, name). A limit becomes a rule if
/// its conditions are conjunctions of `descriptors[N].k == 'v'`, its variables are
/// `descriptors[N].k`, and all of them have one N. Limits with the same entries become one rule
/// with several limits. The result has a note for each limit and key without a counterpart, and for
/// each difference. For example, limitador's limits also match descriptors with more entries, in
/// any order, and all matching limits apply. Errors are those of ParseYaml, and kInvalidArgument in
/// the same form if the file is no such list.
[[nodiscard]] Result<ImportedRules> ImportLimitador(std::string_view text,
                                                    std::string_view file_name);

}  // namespace weir::rules
