// What a test on a real engine says to fault_proxy.py, and the table that it works on.
#pragma once

#include <map>
#include <string>

namespace weir {

/// Where the engine answers, and where the proxy before it does.
std::string EngineUrl();
std::string ProxyUrl();

/// One line of fault_proxy.py; returns what it says. Ends the program where it does not agree.
std::string Tell(const std::string& line);

/// Requests that reached the proxy since the last time, by operation; "peak": most at once;
/// "turns": how many came while no other was there.
using Counts = std::map<std::string, int>;
Counts TakeCounts();

/// Creates the table and registers its namespace "default". `dynamodb://TABLE?...` on `endpoint`
/// is what it returns.
std::string MakeTable(const std::string& table, const std::string& endpoint);

}  // namespace weir
