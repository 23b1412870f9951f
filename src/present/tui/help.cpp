#include "present/tui/help.h"

namespace fathom::tui {

std::string help_text() {
  return "Keys\n"
         "\n"
         "  Up Down PgUp PgDn Home End Space   move\n"
         "  1 ... 9, Tab                       answer, flat, callers, threads, waits, heap, tree, callees, annotate\n"
         "  Enter                              of a function its callers; of a call open or close; of a thread only it\n"
         "  <  >                               who called the function at the cursor; what it called\n"
         "  a                                  its source and machine code, with what each line and instruction costs\n"
         "  Right Left, e c, +                 open and close a call; Left goes up to who called\n"
         "  E C                                open all, close all\n"
         "  s                                  order: self, total, name\n"
         "  g                                  rows by function, thread and function, module, thread\n"
         "  /  n p                             search (a part of a name, or /expression/), next, previous\n"
         "  f  d                               only stacks with a function, only those without; Enter: that at the cursor\n"
         "  H  F                               hide calls of a function; begin stacks at one; again and Enter: as they are\n"
         "  t                                  only the thread at the cursor, or the one that is typed; again: all\n"
         "  T  [ ]                             only a time, as 10:20 in seconds; the slice before, the one after\n"
         "  m                                  the next metric: cpu, off-cpu, heap-live ...\n"
         "  x                                  all filters off\n"
         "  y                                  copy the command that prints the same\n"
         "  mouse                              click a row or a view, click again to open it; the wheel moves\n"
         "  q, Esc                             back; q of the first view and Ctrl-C leave\n"
         "\n"
         "  [.] code of the program and its libraries, [k] of the kernel, [w] what was waited for\n";
}

}  // namespace fathom::tui
