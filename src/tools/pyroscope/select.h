// One merged profile of a Pyroscope server: querier.v1.QuerierService/SelectMergeProfile (Connect, protobuf over HTTP), whose answer is a
// pprof.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/profile.h"
#include "tools/pyroscope/query.h"

namespace fathom::pyroscope {

// Times are CLOCK_REALTIME; the server takes milliseconds. kNotFound: it has no profile of this query in this time. kPermission: it
// wants another login. kSystem: it is away or overloaded. Others: with the server's words. A range of several snapshots of the live heap
// is their sum: the server adds them up.
Result<model::Profile> select_profile(const Query& query, std::uint64_t from_unix_ns,
                                      std::uint64_t until_unix_ns, int stop = -1);

// The message querier.v1.SelectMergeProfileRequest. Pure.
std::string select_request(const Query& query, std::uint64_t from_unix_ns, std::uint64_t until_unix_ns);

}  // namespace fathom::pyroscope
