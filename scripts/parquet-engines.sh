#!/usr/bin/env bash
# Opens Parquet files that fathom wrote in DuckDB and pyarrow, lets both write them again, and reads that with fathom: all sums must be the same.
#
#   scripts/parquet-engines.sh FATHOM RECORDING...     needs: pip install duckdb pyarrow
set -euo pipefail
fathom=$(realpath "$1")
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
host=0
for recording in "$@"; do
  host=$((host + 1))
  for _ in 1 2; do "$fathom" push --parquet "$folder/ours" "$recording" --service s --host "web$host"; done
done

# Of folded stacks: whole samples.
sum_of() { "$fathom" export "$1" --to folded --metric cpu -o - | awk '{sum += $NF} END {print sum + 0}'; }
want=0
for recording in "$@"; do want=$((want + $(sum_of "$recording"))); done

python3 - "$folder" "$want" <<'P'
import glob, os, sys
import duckdb, pyarrow, pyarrow.dataset, pyarrow.parquet
folder, want = sys.argv[1], int(sys.argv[2])
ours = folder + "/ours"
samples = f"read_parquet('{ours}/*/*/*/*.samples.parquet', hive_partitioning = true)"
def check(who, got):
    print(f"{who}: {got} samples" + ("" if got == want else f", and not {want}"))
    if got != want: sys.exit(1)
check("duckdb " + duckdb.__version__, duckdb.sql(f"SELECT sum(value)::BIGINT FROM {samples} WHERE service = 's' AND metric = 'cpu'").fetchall()[0][0])
stacks = f"read_parquet('{ours}/*/*/*/*.stacks.parquet')"
check("duckdb, joined with stacks", duckdb.sql(f"SELECT sum(value)::BIGINT FROM {samples} JOIN (SELECT DISTINCT hash FROM {stacks}) ON stack = hash WHERE metric = 'cpu'").fetchall()[0][0])
files = sorted(glob.glob(ours + "/**/*.samples.parquet", recursive=True))
table = pyarrow.dataset.dataset(files, partitioning="hive", partition_base_dir=ours).to_table()
check("pyarrow " + pyarrow.__version__, sum(v for v, m in zip(table["value"].to_pylist(), table["metric"].to_pylist()) if m == "cpu"))
for path in glob.glob(ours + "/**/*.parquet", recursive=True):
    for engine in ("duckdb", "pyarrow"):
        copy = path.replace(ours, f"{folder}/{engine}")
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        if engine == "duckdb": duckdb.sql(f"COPY (SELECT * FROM read_parquet('{path}', hive_partitioning = false)) TO '{copy}' (FORMAT parquet)")
        else: pyarrow.parquet.write_table(pyarrow.parquet.ParquetFile(path).read(), copy)
P
for engine in ours duckdb pyarrow; do
  got=$(sum_of "$folder/$engine")
  echo "fathom, files written by $engine: $got samples"
  [ "$got" = "$want" ] || { echo "parquet-engines: and not $want" >&2; exit 1; }
done
