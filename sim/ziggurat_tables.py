#!/usr/bin/env python3
"""Writes sim/ziggurat_tables.h: python3 sim/ziggurat_tables.py > sim/ziggurat_tables.h

Layers of equal area under a falling density f (not normalised): x[1] = r, x[i+1] = f^-1(v / x[i] + f(x[i])),
with v = r f(r) + the area of the tail beyond r, and r such that layer 256 ends at f = 1. x[0] = v / f(r) is
the width of the rectangle that stands for layer 0 and its tail. Computed to 50 digits, then rounded once.
"""
from decimal import Decimal as D, getcontext

getcontext().prec = 50
LAYERS = 256


def normal_tail(r):
    """Integral of exp(-t^2/2) beyond r: Laplace's continued fraction."""
    c = D(0)
    for k in range(400, 0, -1):
        c = D(k) / (r + c)
    return (-r * r / 2).exp() / (r + c)


DENSITIES = {
    "exponential": (lambda x: (-x).exp(), lambda y: -y.ln(), lambda r: (-r).exp(), D(7), D(8)),
    "normal": (lambda x: (-x * x / 2).exp(), lambda y: (-2 * y.ln()).sqrt(), normal_tail, D(3), D(4)),
}


def layers(f, inverse, tail, r):
    """x[1..] until the density passes 1, and by how much layer 256 misses it."""
    v = r * f(r) + tail(r)
    x = [v / f(r), r]
    while len(x) < LAYERS:
        y = v / x[-1] + f(x[-1])
        if y >= 1:
            return x, D(LAYERS - len(x))
        x.append(inverse(y))
    return x, v / x[-1] + f(x[-1]) - 1


def solve(f, inverse, tail, low, high):
    for _ in range(150):
        r = (low + high) / 2
        low, high = (r, high) if layers(f, inverse, tail, r)[1] > 0 else (low, r)
    x = layers(f, inverse, tail, (low + high) / 2)[0] + [D(0)]
    return x, [f(t) for t in x]


def table(name, values):
    print(f"static const double {name}[ZIGGURAT_LAYERS + 1] = {{")
    print(",\n".join("    " + ", ".join(float(v).hex() for v in values[i:i + 4])
                     for i in range(0, len(values), 4)) + "};")


print("""/* Tables of the ziggurat (Marsaglia and Tsang 2000), written by sim/ziggurat_tables.py.
 *
 * x[i] is the width of layer i, f[i] the density there (1 at the top, not normalised); x[1] is
 * where the tail begins and x[0] the width of the rectangle with the area of layer 0 and the tail.
 */
#ifndef HEADROOM_SIM_ZIGGURAT_TABLES_H
#define HEADROOM_SIM_ZIGGURAT_TABLES_H

enum { ZIGGURAT_LAYERS = 256 };

/* clang-format off */""")
for name, density in DENSITIES.items():
    x, f = solve(*density)
    print()
    table(f"{name}_x", x)
    print()
    table(f"{name}_f", f)
print("\n#endif")
