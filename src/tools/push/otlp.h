// OTLP profiles: opentelemetry/proto/profiles/v1development, which is alpha. Field numbers are those of version 1.11.0; those of 1.9 and
// before were others, and a server that expects them takes a request and shows nothing. So it is sent only with --experimental.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "tools/push/destination.h"
#include "tools/push/server_profiles.h"

namespace fathom::push {

// otlp://HOST[:4318][/PATH], otlp+https://: over HTTP. Errors as of parse_server_url().
Result<std::unique_ptr<Destination>> otlp_destination(std::string_view url, int stop = -1);

// ExportProfilesServiceRequest: one resource, a scope for each of `profiles` that is named after it, and in it a profile for each sample
// type; of CPU time only the samples, as their period says what each is worth. Pure. kMalformed: a part is no pprof.
Result<std::string> otlp_request(const std::vector<ServerProfile>& profiles, const Labels& labels);

// Empty if the server took all; else what it says. Body of an answer: ExportProfilesServiceResponse.
std::string otlp_refusal(std::string_view body);

}  // namespace fathom::push
