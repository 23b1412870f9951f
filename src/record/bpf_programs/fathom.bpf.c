/* The event programs. All of them first ask whether the current process is recorded. They change nothing and
 * return what lets every other tool on the machine keep its events. */
#include "kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "base/abi/cpu_events.h"

#include "current_task.h"

#include "tables.h"

#include "stacks.h"

#include "copied_stacks.h"

#include "cpu.h"

#include "processes.h"

#include "off_cpu.h"

#include "mappings.h"

#include "fatal_signals.h"

#include "probe_values.h"

#include "probes.h"

#include "heap_probes.h"

#include "kernel_events.h"

#include "system_calls.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
