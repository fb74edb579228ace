// gRPC's reflection service, v1 and v1alpha: the messages and methods of the server, for tools such
// as grpcurl.
#pragma once

#include "weir/grpc/method_table.h"

namespace weir::service {

/// Adds both versions of grpc.reflection.ServerReflection. They describe the services that `table`
/// has at the time of a call, so `table` must outlive only its own calls. All calls run on one
/// thread. A call has at most 1,000 messages; with more it ends with kResourceExhausted.
void AddReflection(grpc::MethodTable& table);

}  // namespace weir::service
