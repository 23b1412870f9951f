// What users type to name functions: a part of a name, the name as a view prints it (shown_name.h), or a POSIX extended
// regular expression between slashes.
#pragma once

#include <memory>
#include <string>

#include "analysis/core/shown_name.h"
#include "base/result.h"

namespace fathom::analysis {

class NamePattern {
 public:
  // kUsage for an expression that is none. An empty text fits nothing.
  static Result<NamePattern> parse(const std::string& text);
  bool is_expression() const { return expression_ != nullptr; }
  bool matches(const std::string& name) const;
  // kName for what an expression matches.
  NameFit fit(const std::string& name) const;
  const std::string& text() const { return text_; }

 private:
  class Expression;
  std::string text_;
  std::shared_ptr<const Expression> expression_;
  ShownName shown_{""};
};

}  // namespace fathom::analysis
