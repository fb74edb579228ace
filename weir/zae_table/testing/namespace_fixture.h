// The namespaces of a simulated table, with synchronous calls. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weir/zae_table/namespace/namespace_record.h"
#include "weir/zae_table/namespace/namespaces.h"
#include "weir/zae_table/testing/zae_sim_table.h"

namespace weir::dynamo {

class NamespaceRig {
 public:
  Result<Namespace> Register(std::string_view name) {
    return sim.Ask<Namespace>(
        [&](auto done) { spaces.Register(name, Deadline::Never(), std::move(done)); });
  }
  Result<std::optional<Namespace>> Get(std::string_view name) {
    return sim.Ask<std::optional<Namespace>>(
        [&](auto done) { spaces.Get(name, Deadline::Never(), std::move(done)); });
  }
  Result<Namespace> Delete(std::string_view name) {
    return sim.Ask<Namespace>(
        [&](auto done) { spaces.Delete(name, Deadline::Never(), std::move(done)); });
  }
  Result<Namespace> Recover(std::string_view id) {
    return sim.Ask<Namespace>(
        [&](auto done) { spaces.Recover(id, Deadline::Never(), std::move(done)); });
  }
  Result<std::uint64_t> Purge(std::string_view id) {
    return sim.Ask<std::uint64_t>(
        [&](auto done) { spaces.Purge(id, Deadline::Never(), std::move(done)); });
  }
  Result<std::string> Resolve(std::string_view name) {
    return sim.Ask<std::string>(
        [&](auto done) { spaces.Resolve(name, Deadline::Never(), std::move(done)); });
  }
  Result<Page<Namespace>> List(const PageRequest& page = {}) {
    return sim.Ask<Page<Namespace>>(
        [&](auto done) { spaces.List(page, Deadline::Never(), std::move(done)); });
  }
  Result<Page<Namespace>> Orphans(const PageRequest& page = {}) {
    return sim.Ask<Page<Namespace>>(
        [&](auto done) { spaces.Orphans(page, Deadline::Never(), std::move(done)); });
  }
  // Stores an item of a namespace, in the index or not.
  void PutItem(const TableKey& key, std::string_view id, bool indexed = true) {
    Item item = ToItem(key);
    if (indexed) {
      item.emplace("GSI4PK", Of(id));
      item.emplace("GSI4SK", Of(key.pk));
    }
    sim.Put(std::move(item));
  }
  void SetReverse(const Namespace& space) { sim.Put(ReverseRecord(space)); }
  void DeleteItem(const TableKey& key) {
    const Status deleted = sim.Ask<void>(
        [&](auto done) { sim.table.DeleteAll({key}, Deadline::Never(), std::move(done)); });
    EXPECT_TRUE(deleted);
  }

  ZaeSimTable sim;
  std::uint64_t random = 0;
  std::optional<std::uint64_t> next_random;  // used once, before the others
  Namespaces spaces{sim.table, sim.scheduler.clock(), [this] {
                      if (const auto drawn = std::exchange(next_random, {})) return *drawn;
                      return random += 0x1234'5678'9ABC'DEF1;
                    }};
};

}  // namespace weir::dynamo
