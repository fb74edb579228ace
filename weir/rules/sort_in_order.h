// A stable sort.
#pragma once

#include <functional>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::rules {

/// Sorts the items by `key(item)`; items with equal keys keep their order. (std::stable_sort of
/// libstdc++ 12 uses what clang 19 reports as deprecated.)
template <class T, class Key>
void SortInOrder(std::vector<T>& items, Key key) {
  using KeyValue = std::remove_cvref_t<std::invoke_result_t<Key&, const T&>>;
  std::multimap<KeyValue, T> sorted;
  for (T& item : items) {
    KeyValue value = std::invoke(key, std::as_const(item));
    sorted.emplace(std::move(value), std::move(item));
  }
  items.clear();
  for (auto& [value, item] : sorted) items.push_back(std::move(item));
}

}  // namespace weir::rules
