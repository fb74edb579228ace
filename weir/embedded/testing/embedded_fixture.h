// A backend on a file of its own, in simulated time. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/embedded/embedded_backend.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/store/reservation/reservation_store.h"

namespace weir {

inline constexpr UnixMillis kNow{1'767'225'600'013};
inline const AccountKey kAccount{.resource = "emr", .account = "acme"};

/// Calls one backend. Each call advances the simulated time until its result is there.
class EmbeddedClient {
 public:
  explicit EmbeddedClient(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] Status Open(const EmbeddedOptions& options = {});
  /// Closes the backend, if it is open.
  Status Close();
  EmbeddedBackend& backend() { return *backend_; }
  bool is_open() const { return backend_ != nullptr; }
  sim::SimScheduler& scheduler() { return scheduler_; }
  UnixMillis now() const { return scheduler_.clock().WallNow(); }
  const std::string& path() const { return path_; }

  Result<Decision> Acquire(const std::vector<Charge>& charges);
  Status Adjust(const std::vector<Charge>& charges, bool stores_limits = false);
  Status Apply(std::vector<ConfigChange> changes);
  std::optional<BucketRecord> Read(const BucketKey& key);
  std::vector<BucketRecord> List();
  /// Returns the usage of an entity, an hour after the other; or, with a window, of that.
  std::vector<UsageSnapshot> Usage(const std::string& entity,
                                   UsageWindow window = UsageWindow::kHourly);
  /// Returns the present balance of one limit of a bucket, in millitokens.
  std::int64_t Balance(const TargetPtr& target, std::size_t limit = 0);
  /// Runs tasks until the next commit has ended.
  void Commit();
  /// Copies the files as a process that is killed now would leave them. Returns the path of the
  /// copy.
  std::string CopyAsKilled();

 private:
  sim::SimScheduler scheduler_;
  std::string path_;
  std::unique_ptr<EmbeddedBackend> backend_;
  std::uint64_t adjusts_ = 0;
  int copies_ = 0;
};

/// A client of a file in a temporary folder.
class EmbeddedTest : public testing::Test {
 protected:
  TempFolder folder_;
  EmbeddedClient client_{folder_ / "weir.db"};
};

/// Returns a limit that practically is not refilled during a test: a millitoken a year.
Limit Still(const std::string& name, std::int64_t tokens);
TargetPtr StillTarget(const std::string& entity, std::int64_t tokens = 1000);
/// Returns a charge of `tokens` whole tokens of the first limit.
Charge Take(const TargetPtr& target, std::int64_t tokens);

/// Returns the sum of one limit's use in whole tokens.
std::int64_t SumOf(const std::vector<UsageSnapshot>& usage, const std::string& limit);
/// Returns the entities whose months of usage do not add up to what the meters of their bucket have
/// consumed. REQUIRES: an entity has one bucket, which existed at each of its changes.
std::vector<std::string> UsageThatDiffers(EmbeddedClient& client);

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, const std::string& content);
bool FileExists(const std::string& path);
/// Runs SQL on a file that no process has open. Returns the rows, with columns joined by '|'.
std::vector<std::string> RunSql(const std::string& path, const std::string& sql);

}  // namespace weir
