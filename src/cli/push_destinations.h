// The kinds of servers to which recordings can be sent: one row each.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "tools/push/destination.h"

namespace fathom::cli {

// `stop`: a descriptor that becomes readable when sending should end; -1: none. kUsage: an address of no known kind.
Result<std::unique_ptr<push::Destination>> open_destination(const std::string& url, int stop = -1);

// The address for messages and names of files, without user and password.
std::string destination_name(const std::string& url);

}  // namespace fathom::cli
