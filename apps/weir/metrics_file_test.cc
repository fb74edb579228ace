#include "apps/weir/metrics_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/weir/files.h"
#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/sim/sim_scheduler.h"
#include "weir/telemetry/testing/recording_log_fixture.h"

namespace weir::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct MetricsInFile {
  MetricsInFile() {
    EXPECT_TRUE(registry.Add({.name = "weir_things_total", .help = "Things."}, things));
  }

  sim::SimScheduler scheduler;
  Registry registry;
  Counter things;
  RecordingLog log;
};

TEST(MetricsFile, IsReplacedAfterTheInterval) {
  const TempFolder folder;
  const std::string path = folder / "weir.prom";
  MetricsInFile fixture;
  MetricsFile file(path, fixture.registry, fixture.scheduler.clock(), fixture.log);
  EXPECT_TRUE(file.Write());
  fixture.things.Add(3);
  fixture.scheduler.Advance(MetricsFile::kInterval - milliseconds(1));
  file.WriteIfDue();
  EXPECT_THAT(*ReadFile(path), HasSubstr("weir_things_total 0\n"));
  fixture.scheduler.Advance(milliseconds(1));
  file.WriteIfDue();
  EXPECT_THAT(*ReadFile(path), HasSubstr("weir_things_total 3\n"));
  EXPECT_THAT(fixture.log.lines(), IsEmpty());
}

// Fails if: a full disk ends the process, or fills its log.
TEST(MetricsFile, AFailureIsLoggedOnceAnInterval) {
  MetricsInFile fixture;
  MetricsFile file("/no/such/folder/weir.prom", fixture.registry, fixture.scheduler.clock(),
                   fixture.log);
  EXPECT_FALSE(file.Write());
  fixture.scheduler.Advance(MetricsFile::kInterval);
  for (int i = 0; i < 50; ++i) file.WriteIfDue();
  EXPECT_THAT(fixture.log.lines(), ElementsAre(HasSubstr("warning metrics.file_failed")));
}

TEST(MetricsFile, NothingIsWrittenWithoutAPath) {
  MetricsInFile fixture;
  MetricsFile file("", fixture.registry, fixture.scheduler.clock(), fixture.log);
  EXPECT_TRUE(file.Write());
  file.WriteIfDue();
  EXPECT_THAT(fixture.log.lines(), IsEmpty());
}

}  // namespace
}  // namespace weir::app
