// Controls fault_proxy.py in tests on a real engine, and creates the table of a test.
#pragma once

#include <map>
#include <string>

namespace weir {

/// Return the endpoints of the engine and of the proxy in front of it.
std::string EngineUrl();
std::string ProxyUrl();

/// Sends one line to fault_proxy.py and returns its reply. Exits if the proxy refuses the line.
std::string Tell(const std::string& line);

/// Returns the requests that have reached the proxy since the last call, by operation. "peak" is
/// the largest number at once; "turns" counts the requests that arrived while no other was there.
using Counts = std::map<std::string, int>;
Counts TakeCounts();

/// Creates the table and registers its namespace "default". Returns `dynamodb://TABLE?...` on
/// `endpoint`.
std::string MakeTable(const std::string& table, const std::string& endpoint);

}  // namespace weir
