#include "weir/zae_table/actor/pending_closes.h"

#include <utility>

namespace weir::dynamo {

PendingCloses::Id PendingCloses::Add(Done<void> done) {
  entries_.emplace(++last_id_, Entry{decltype(Entry::done)(std::move(done))});
  return last_id_;
}

void PendingCloses::SetTimer(Id id, TimerId timer) { entries_.at(id).timer = timer; }

std::optional<PendingCloses::Entry> PendingCloses::Remove(Id id) {
  auto found = entries_.extract(id);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

std::vector<PendingCloses::Entry> PendingCloses::RemoveAll() {
  std::vector<Entry> all;
  for (auto& [id, entry] : std::exchange(entries_, {})) all.push_back(std::move(entry));
  return all;
}

}  // namespace weir::dynamo
