// A profile as one document for the page: a head in JSON and columns of numbers, compressed. docs/page.md
// describes it. If it does not fit, parts are folded and the head says so: time slices become wider, then the
// smallest calls are merged below their caller, so sums stay complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "present/page/span_columns.h"

namespace fathom::page {

inline constexpr std::uint32_t kDocumentVersion = 1;

struct DocumentOptions {
  std::string file;                     // what the commands of the page call it
  std::vector<std::string> arguments;   // extra arguments that they need: "--pid", "12"
  std::size_t most_bytes = 11'000'000;  // compressed; a page holds them as text, a third longer
  std::uint32_t most_slices = 2000;
  std::optional<SpanTrack> spans =
      {};  // of a recording that was cut to some spans: all of them, from before; else its own
  std::optional<SpanCut> span_cut = {};
  bool can_ask_spans = false;  // the page's server cuts the recording to other spans
};

struct Document {
  std::string bytes;  // compressed
  std::uint64_t slice_ms = 0;
  double folded_share = 0;  // calls of less than this part of every metric were folded; 0: none
};

// kUnsupported where it does not fit into `most_bytes` even so.
Result<Document> make_document(const model::Profile& profile, const DocumentOptions& options);
// The same for a profile that is not needed afterwards: frees its tables while they become the document,
// which takes a sixth less memory. `again` reads it once more if the document did not fit.
using ReadAgain = std::function<Result<model::Profile>()>;
Result<Document> make_document(model::Profile&& profile, const ReadAgain& again,
                               const DocumentOptions& options);

}  // namespace fathom::page
