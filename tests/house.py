#!/usr/bin/env python3
"""The rules of the house that a compiler does not check.

    house.py SOURCE_ROOT [LIBRARY.a ...]

- Folders depend in one direction: an include may only name the same folder or one to its left.
- Within models/, hardware, capacity, serving, training, cost and closed include no file of run or plan.
- No writable globals: nothing of ours in .data or .bss (read from the libraries given).
- Every folder has a README; every file starts with a comment; no file is longer than 800 lines and
  no function longer than 60.
Prints one line a fault and exits 1 when there is any.
"""
import pathlib
import re
import subprocess
import sys

ORDER = ["sim", "models", "traces", "scenarios", "analysis", "cli"]
MAX_FILE, MAX_FUNCTION = 800, 60
faults = []


def fault(path, line, text):
    faults.append(f"{path}:{line}: {text}")


def check_includes(root, path, lines):
    folder = path.parts[0]
    for number, line in enumerate(lines, 1):
        m = re.match(r'#include "([^"]+)"', line)
        if not m:
            continue
        target = m.group(1).split("/")[0]
        if target not in ORDER:
            fault(path, number, f'"{m.group(1)}" is not named from the root')
        elif folder in ORDER and ORDER.index(target) > ORDER.index(folder):
            fault(path, number, f"{folder} may not use {target}")
        elif len(path.parts) > 2 and folder == "models" and m.group(1) in ("models/plan.h", "models/run.h"):
            fault(path, number, f"{path.parent} may not use {m.group(1)}")
        if not (root / m.group(1)).exists():
            fault(path, number, f'"{m.group(1)}" does not exist')


def check_sizes(path, lines):
    if len(lines) > MAX_FILE:
        fault(path, len(lines), f"{len(lines)} lines: more than {MAX_FILE}")
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            if number - start - 1 > MAX_FUNCTION:
                fault(path, start, f"a function of {number - start - 1} lines: more than {MAX_FUNCTION}")
            start = None


def check_files(root):
    for folder in ORDER:
        for path in sorted((root / folder).rglob("*.[ch]")):
            relative = path.relative_to(root)
            lines = path.read_text().split("\n")
            check_includes(root, relative, lines)
            check_sizes(relative, lines)
            if not lines[0].startswith("/*"):
                fault(relative, 1, "does not start with a comment that says what it is")
    for folder in ORDER + ["bench", "tests"]:
        if not (root / folder / "README.md").exists():
            fault(folder, 0, "has no README.md")


def check_globals(libraries):
    for library in libraries:
        table = subprocess.run(["objdump", "-t", library], check=True, capture_output=True, text=True).stdout
        for line in table.split("\n"):
            m = re.match(r"[0-9a-f]+ (.)(.{6}) (\S+)\s+([0-9a-f]+) (.*)", line)
            if not m or "O" not in m.group(2):
                continue
            section, size, symbol = m.group(3), int(m.group(4), 16), m.group(5)
            writable = section == "*COM*" or re.match(r"\.(data|bss|tdata|tbss)(\.|$)", section)
            if writable and not section.startswith(".data.rel.ro") and size:
                fault(library, 0, f"writable global {symbol} in {section}")


check_files(pathlib.Path(sys.argv[1]))
check_globals(sys.argv[2:])
for line in faults:
    print(line)
sys.exit(1 if faults else 0)
