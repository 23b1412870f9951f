// The driver around a Browser: raw mode and the alternate screen of the terminal, sizes, keys, drawing. The
// terminal is restored whatever ends the program: also a signal, which is then delivered as usual.
#pragma once

#include "base/result.h"
#include "present/tui/browser.h"

namespace fathom::tui {

// Are there a terminal to draw on and one to read keys from? kUsage in one line otherwise.
Result<> check_terminal();

// Until the browser is done or the terminal is gone.
Result<> run_in_terminal(Browser& browser, bool color);

}  // namespace fathom::tui
