// What a process publishes about itself to readers outside of it: the process context of OpenTelemetry, version 2 (OTEP 4719).
// It is a mapping with the name OTEL_CTX that points to a protobuf message with the attributes of the process's resource, such as
// service.name. Bytes of another process: nothing is believed, and a wrong one gives no attributes.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace fathom::process {

using PublishedAttributes = std::map<std::string, std::string, std::less<>>;

// Texts of the resource, at most 64, with keys of at most 128 and values of at most 1,024 bytes; other kinds of values are left
// out. Empty: the process publishes none, changes them right now, or cannot be read.
PublishedAttributes published_attributes(int pid);

// Of a message ProcessContext.
PublishedAttributes parse_process_context(std::span<const std::byte> message);

}  // namespace fathom::process
