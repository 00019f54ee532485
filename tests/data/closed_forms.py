#!/usr/bin/env python3
"""Prints closed_forms.csv: closed forms by plain sums with 50 digits (python3-mpmath).

A line: form, its inputs, "=", its results. Inputs are doubles, taken as exact.
"""
from mpmath import exp, expm1, lambertw, mp, mpf, nstr

mp.dps = 50


def show(form, inputs, results):
    print(",".join([form, *map(repr, inputs), "=", *(nstr(x, 22) for x in results)]))


def bounded(servers, offered, places):
    term = total = mpf(1)
    wait = queue = mpf(0)
    for n in range(1, servers + places + 1):
        term *= mpf(offered) / min(n, servers)
        total += term
        wait += term if servers <= n < servers + places else 0
        queue += (n - servers) * term if n > servers else 0
    lost = term / total
    return lost, wait / total / (1 - lost), queue / total


def impatient(servers, rate, service, patience):
    rate, service, patience = mpf(rate), mpf(service), mpf(patience)
    term = total = mpf(1)
    wait = queue = mpf(0)
    n = 0
    while n <= servers or term > total * mpf(10) ** -40 or ratio >= 1:
        n += 1
        ratio = rate / (min(n, servers) / service + max(0, n - servers) / patience)
        term *= ratio
        total += term
        wait += term if n >= servers else 0
        queue += (n - servers) * term if n > servers else 0
    return queue / total / patience / rate, wait / total, queue / total


def group(users, servers, session, gap, queue):
    weights = [mpf(1)]
    for n in range(1, (users if queue else min(users, servers)) + 1):
        weights.append(weights[-1] * (users - n + 1) / mpf(gap) / (min(n, servers) / mpf(session)))
    total = sum(weights)
    return [w / total for w in weights]


def finite(users, servers, session, gap):
    seen = group(users, servers, session, gap, True)
    others = group(users - 1, servers, session, gap, True)
    lost = group(users, servers, session, gap, False)
    arriving = group(users - 1, servers, session, gap, False)
    waiting = sum((n - servers) * p for n, p in enumerate(seen) if n > servers)
    return sum(seen[servers:]), sum(others[servers:]), waiting, lost[servers], arriving[servers]


def interval(save, mtbf):
    return (mpf(mtbf) * (1 + lambertw(-exp(-mpf(save) / mpf(mtbf) - 1)).real),)


def segment(mtbf, save, restart, down, tau):
    m = mpf(mtbf)
    return (exp(restart / m) * (m + down) * expm1((mpf(tau) + save) / m),)


for case in [
    (10, 12.5, 20), (1, 0.5, 5), (1, 0.999999, 50), (100, 100.0, 1000), (1000, 999.9, 5000),
    (10000, 9990.0, 200), (10000, 10100.0, 50000), (50000, 49999.9, 1000), (2, 1.9999999, 100000),
    (100000, 100000.0, 0),
]:
    show("bounded", case, bounded(*case))
for case in [
    (10, 25.0, 0.5, 2.0), (1000, 2000.0, 0.5, 100.0), (100, 210.0, 0.5, 1e5),
    (5000, 4999.0, 1.0, 10.0), (1, 0.9, 1.0, 1e4),
]:
    show("impatient", case, impatient(*case))
for case in [(300, 64, 2.0, 8.0), (5000, 1000, 2.0, 8.0), (20000, 4100, 1.0, 4.0), (100, 99, 1.0, 1e-3)]:
    show("finite", case, finite(*case))
for ratio in [1e-15, 1e-12, 1e-9, 1e-6, 1e-4, 0.0099999, 0.01, 0.0100001, 0.1, 0.5, 1.0, 1.9, 2.5, 10.0, 30.0]:
    for mtbf in [777.7, 3600.0, 1.23e7]:
        show("interval", (ratio * mtbf, mtbf), interval(ratio * mtbf, mtbf))
for case in [
    (14400.0, 30.0, 180.0, 120.0, 909.6), (1e9, 1e-3, 0.0, 0.0, 1e-3), (1e12, 1.0, 600.0, 1.0, 1e4),
    (3600.0, 60.0, 600.0, 0.0, 1e5), (50.0, 60.0, 20.0, 5.0, 200.0),
]:
    show("segment", case, segment(*case))
