// The kinds of servers to which recordings can be sent: one row each.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/push/destination.h"

namespace fathom::cli {

// `stop`: a descriptor that becomes readable when sending should end; -1: none. `experimental`: protocols that still change are allowed.
// kUsage: an address of no known kind, or such a protocol without leave.
Result<std::unique_ptr<push::Destination>> open_destination(const std::string& url, bool experimental,
                                                            int stop = -1);

// `what`, such as "otlp://", needs --experimental.
tl::unexpected<Error> experimental_error(std::string_view what);

// The address for messages and names of files, without user and password.
std::string destination_name(const std::string& url);

}  // namespace fathom::cli
