#include "weir/embedded/file/damage.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "weir/model/quoted.h"

namespace weir {

std::string DamageReport::Note(std::string_view table, std::string_view what) {
  ++count_;
  ++by_table_.try_emplace(std::string(table)).first->second;
  std::string message = fmt::format("{} {}", table, Printable(what));
  if (first_.size() == kKept) return message;
  first_.push_back(message);
  const std::array<LogField, 3> fields = {LogField{"file", file_}, LogField{"table", table},
                                          LogField{"damage", first_.back()}};
  log_->Write(LogLevel::kError, "file.row_damaged", fields);
  return message;
}

std::size_t DamageReport::count(std::string_view table) const {
  const auto found = by_table_.find(table);
  return found == by_table_.end() ? 0 : found->second;
}

}  // namespace weir
