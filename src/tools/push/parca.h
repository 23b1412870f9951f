// Parca: ProfileStoreService/WriteRaw through its HTTP gateway, as JSON. Rules of the server: reference in the tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/push/destination.h"
#include "tools/push/server_profiles.h"

namespace fathom::push {

// parca://HOST[:7070][/PATH], parca+https://. Errors as of parse_server_url().
Result<std::unique_ptr<Destination>> parca_destination(std::string_view url, int stop = -1);

// WriteRawRequest with one series and one profile, which is packed. Pure.
std::string parca_write(const ServerProfile& profile, const Labels& labels, std::string_view packed);

}  // namespace fathom::push
