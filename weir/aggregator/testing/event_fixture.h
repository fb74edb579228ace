// Events of AWS Lambda, from change records.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "weir/dynamodb/streams/change_record.h"

namespace weir::dynamo {

/// Returns the record as an event has it.
inline std::string EventRecordOf(const ChangeRecord& record) {
  static constexpr const char* kNames[] = {"INSERT", "MODIFY", "REMOVE"};
  std::string images = R"("Keys":)";
  AppendJson(images, record.keys);
  if (!record.old_image.empty()) AppendJson(images += R"(,"OldImage":)", record.old_image);
  if (!record.new_image.empty()) AppendJson(images += R"(,"NewImage":)", record.new_image);
  return fmt::format(R"({{"eventName":"{}","dynamodb":{{"ApproximateCreationDateTime":{},)"
                     R"("SequenceNumber":"{:0>21}",{}}}}})",
                     kNames[static_cast<int>(record.kind)],
                     static_cast<double>(record.created.value) / 1000, record.sequence_number,
                     images);
}

/// Returns an event of these records, each as EventRecordOf returns it.
inline std::string StreamEventOf(std::span<const std::string> records) {
  return fmt::format(R"({{"Records":[{}]}})", fmt::join(records, ","));
}

}  // namespace weir::dynamo
