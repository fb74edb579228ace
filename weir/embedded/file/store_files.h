// The files of a store: its state, the states of its namespaces, their registry, and its
// reservations.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/embedded/file/schema.h"

namespace weir {

struct StoreFile {
  enum class Kind { kState, kNamespaces, kReservations };
  std::string path;
  Kind kind = Kind::kState;

  std::span<const Migration> migrations() const;
};

/// Returns the existing files of the store at `path`, whether they are damaged or not; the state
/// comes first. With a namespace (its name, or `id:` and its id), returns only its state. Returns
/// kNotFound if there is none.
[[nodiscard]] Result<std::vector<StoreFile>> FilesOf(const std::string& path,
                                                     const std::string& namespace_name = "");

}  // namespace weir
