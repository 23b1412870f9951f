// A recording as it is, in SQL: every table of the model with its rows, and views that put names to them. For questions that no
// report asks: `sqlite3 x.db <x.sql` makes a database of it, and PostgreSQL and DuckDB read it as well. docs/sql.md describes it.
//
// No library is linked for it, as a database's own file would need; text also goes through a pipe, and any database takes it.
#pragma once

#include <functional>
#include <string_view>

#include "model/profile.h"

namespace fathom::present {

inline constexpr int kSqlVersion = 1;  // raised when a table or a column changes its meaning or goes

// Gives the text away piece by piece. `version`: of fathom.
void write_sql(const model::Profile& profile, std::string_view version,
               const std::function<void(std::string_view)>& take);

}  // namespace fathom::present
