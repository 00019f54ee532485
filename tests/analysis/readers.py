#!/usr/bin/python3
"""Opens result files with the readers people use, and compares every value.

    readers.py MAKE_RESULTS SOURCE_ROOT

ncdump, h5py and xarray with both engines must open the files; all variables must have dimensions
with coordinates; h5py, netCDF4, h5netcdf, JSON and CSV must agree on every value of the summary. The
reading example of analysis/README.md must run. Skipped (77) only where h5py is missing."""
import csv
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import h5py
except ImportError:
    print("skipped: python3-h5py is not installed")
    sys.exit(77)
import numpy as np
import xarray as xr

GROUPS = ["summary", "timeline", "slo/chat", "jobs", "reclaims", "ledger"]
UNITS = {"kW", "kW h", "s", "ns", "h", "min", "1", "s-1", "USD", "USD h-1"}


def groups_of(path):
    with h5py.File(path) as f:
        return [g for g in GROUPS if len(f[g])]


def check_ncdump(path):
    for options in (["-h"], ["-v", "/summary/utilization"], ["-t"]):
        out = subprocess.run(["ncdump", *options, str(path)], capture_output=True, text=True)
        assert out.returncode == 0, (path, options, out.stderr)
    assert "NIL" not in out.stdout
    assert "group: summary" in out.stdout and "CF-1.10" in out.stdout


def plain(values):
    """Values of any reader in one form: str objects, times as int64 seconds."""
    values = np.asarray(values)
    if values.dtype.kind in "OUS":
        flat = [v.decode() if isinstance(v, bytes) else v for v in values.reshape(-1)]
        return np.array(flat, dtype=object).reshape(values.shape)
    return values


def check_dims(path):
    """Each dataset is a coordinate or has a named scale on every axis."""
    with h5py.File(path) as f:
        def visit(name, item):
            if not isinstance(item, h5py.Dataset) or h5py.h5ds.is_scale(item.id):
                return
            for i, dim in enumerate(item.dims):
                assert len(dim) == 1, (name, i)
                scale = dim[0]
                assert scale.shape == (item.shape[i],), (name, i)
            if item.dtype.kind == "f":
                assert math.isnan(item.fillvalue) and math.isnan(item.attrs["_FillValue"][0]), name
                assert item.attrs["units"] in UNITS, (name, item.attrs["units"])
            if item.size >= 1000 and item.dtype.kind != "O":
                assert item.compression == "gzip" and item.compression_opts == 4, name
                assert item.shuffle, name
            assert item.attrs["long_name"], name
        f.visititems(visit)


def check_engines(path):
    for group in groups_of(path):
        with h5py.File(path) as f:
            raw = {k: plain(v[()]) for k, v in f[group].items() if isinstance(v, h5py.Dataset)}
        for engine in ("netcdf4", "h5netcdf"):
            with xr.open_dataset(path, group=group, engine=engine) as ds:
                assert set(ds.variables) == set(raw), (group, engine)
                for name, values in raw.items():
                    seen = ds[name].values
                    if name == "time":
                        assert seen.dtype.kind == "M", (group, engine, seen.dtype)
                        since = np.datetime64("2026-01-01T00:00:00")
                        seen = (seen - since) // np.timedelta64(1, "s")
                    seen = plain(seen)
                    assert seen.shape == values.shape, (group, engine, name)
                    if values.dtype.kind == "f":
                        assert np.array_equal(seen, values, equal_nan=True), (group, engine, name)
                    else:
                        assert np.array_equal(seen, values), (group, engine, name)


def summary_values(path):
    """{(design, replication, entity, part, metric): value} from h5py, by dimension names."""
    out = {}
    with h5py.File(path) as f:
        group = f["summary"]
        labels = {k: [v.decode() for v in group[k][()]] for k in
                  ("service", "queue", "owner", "state", "stage", "objective", "reason")}
        label = np.atleast_1d(group["label"][()])
        for name, item in group.items():
            if h5py.h5ds.is_scale(item.id) or item.dtype.kind != "f":
                continue
            dims = [pathlib.Path(d[0].name).name for d in item.dims]
            for index in np.ndindex(item.shape):
                at = dict(zip(dims, index))
                entity = [labels[d][i] for d, i in at.items() if d in ("service", "queue", "owner")]
                part = [labels[d][i] for d, i in at.items() if d in ("state", "stage", "objective", "reason")]
                key = (label[at.get("design", 0)].decode(), at.get("replication", 0),
                       "".join(entity), "".join(part), name)
                out[key] = float(item[index])
    return out


def csv_values(path):
    out = {}
    with open(path, newline="") as f:
        for row in csv.DictReader(f):
            key = (row["design"], int(row["replication"]), row["entity"], row["part"], row["metric"])
            assert key not in out
            out[key] = float(row["value"]) if row["value"] else math.nan
    return out


def json_values(path):
    out = {}
    result = json.loads(path.read_text())

    def leaves(value, names):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from leaves(inner, names + [key])
        else:
            yield names, value if isinstance(value, list) else [value]

    with h5py.File(path.with_suffix(".h5")) as f:
        has_entity = {k: [pathlib.Path(d[0].name).name for d in v.dims] for k, v in f["summary"].items()
                      if v.dtype.kind == "f"}
    for design in result["designs"]:
        for metric, tree in design["summary"].items():
            dims = has_entity[metric]
            entity_axis = any(d in ("service", "queue", "owner") for d in dims)
            part_axis = any(d in ("state", "stage", "objective", "reason") for d in dims)
            for names, values in leaves(tree, []):
                entity = names.pop(0) if entity_axis else ""
                part = names.pop(0) if part_axis else ""
                assert not names
                for r, value in enumerate(values):
                    out[(design["design"], r, entity, part, metric)] = math.nan if value is None else value
    return out


def check_agreement(path):
    hdf5 = summary_values(path)
    assert len(hdf5) > 200
    for other in (csv_values(path.with_suffix(".csv")), json_values(path.with_suffix(".json"))):
        assert set(other) == set(hdf5), set(other) ^ set(hdf5)
        for key, value in hdf5.items():
            same = value == other[key] or (math.isnan(value) and math.isnan(other[key]))
            assert same, (key, value, other[key])


def check_content(path):
    """What the fixture booked, at its place and time."""
    ds = xr.open_dataset(path, group="timeline")
    serving = ds.gpu_s.sel(design="shared", replication=0, owner="chat", state="serving")
    assert (serving.values / 1800 == [4, 6, 4, 4]).all()
    assert str(ds.time.values[0]) == "2026-01-01T01:00:00.000000000"
    assert (ds.gpu_s.sum(["owner", "state"]) == 18000).all()
    ds = xr.open_dataset(path, group="ledger")
    total = (ds.share_seconds.sum() * 10**9 + ds.share_nanoseconds.sum()).item()
    assert total == 2 * 6 * 10 * 7200 * 10**9
    ds = xr.open_dataset(path, group="slo/chat")
    assert ds.late.sel(design="shared", objective="ttft_p99", replication=2).values[5] == 211
    assert np.isnan(ds.p99_s.values[..., 11, :]).all() and ds.requests.values[..., 11].sum() == 0
    assert ds.histogram.sel(latency="ttft", design="shared", replication=1).sum() == 10
    ds = xr.open_dataset(path, group="jobs")
    assert list(ds.id.values[:4]) == ["a,b", "c", "backlog", "d"] and ds.design.values[4] == 1
    meanings = ds.outcome.attrs["flag_meanings"].split()
    assert [meanings[i] for i in ds.outcome.values[:4]] == ["done", "censored", "done", "waiting"]
    assert ds.outcome.dtype == np.int8 and np.isnan(ds.end_s.values[1]) and ds.gpus.values[3] == 10
    ds = xr.open_dataset(path, group="reclaims")
    assert ds.design.attrs["flag_meanings"] == "separate shared" and set(ds.design.values) == {1}
    assert ds.stage_s.sel(stage="weights").values.tolist() == [60, 60, 0]
    assert (ds.ready_s - ds.decision_s).values[:2].tolist() == [180, 120]
    ds = xr.open_dataset(path, group="summary")
    assert ds.seed.values.tolist() == [42, 42] and ds.settings.values[1] == "pool.design=shared"


def check_example(path, root):
    """The Python block of the README runs on a result."""
    readme = (root / "analysis" / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", readme, re.S)
    assert len(blocks) == 1, len(blocks)
    assert len(blocks[0].strip().split("\n")) <= 10
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, pathlib.Path(folder) / "result.h5")
        run = subprocess.run([sys.executable, "-c", blocks[0]], cwd=folder, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert "separate" in run.stdout and "shared" in run.stdout, run.stdout


def main():
    make_results, root = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([make_results, folder], check=True)
        for name in ("one", "two"):
            path = pathlib.Path(folder) / f"{name}.h5"
            check_ncdump(path)
            check_dims(path)
            check_engines(path)
            check_agreement(path)
        check_content(path)
        check_example(path, root)
    print("ok")


main()
