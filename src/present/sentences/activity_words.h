// What a call does, in the words of a sentence.
#pragma once

#include <string>
#include <string_view>

namespace fathom::present {

// To follow "most of it": "building std::basic_regex", "allocating memory", "in Table::find".
std::string activity_of(std::string_view name);

}  // namespace fathom::present
