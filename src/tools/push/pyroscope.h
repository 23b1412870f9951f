// Grafana Pyroscope: push.v1.PusherService/Push (Connect, protobuf over HTTP). Rules of the server: reference in the tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/push/destination.h"
#include "tools/push/server_profiles.h"

namespace fathom::push {

// pyroscope://HOST[:4040][/PATH], pyroscope+https://; `tenant`: of a server with several, else empty. `stop` as of
// ProfileServer. Errors as of parse_server_url().
Result<std::unique_ptr<Destination>> pyroscope_destination(std::string_view url, std::string tenant,
                                                           int stop = -1);

// The message push.v1.PushRequest with one series and one profile, which is packed. Pure.
std::string pyroscope_push(const ServerProfile& profile, const Labels& labels, std::string_view packed);

}  // namespace fathom::push
