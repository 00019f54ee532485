/* The Poisson distribution far into its tails: how often stock that is ordered one for one runs
 * out.
 *
 * With independent requests at the rate lambda and replacements that take T on average, whatever
 * their distribution, the number under way is Poisson of mean m = lambda T (C. Palm, 1938). A stock
 * of n is empty while at least n are under way (base stock; A. J. Clark and H. Scarf, 1960).
 *
 * Terms are taken from Stirling's series of log n! and summed from the largest on, so that small
 * probabilities have their full relative precision. m >= 0, n whole and >= 0; else NaN. Known
 * answer: P(X >= 120) of mean 100 is 0.0282303939649. Cost O(sqrt(m)). */
#ifndef HEADROOM_MODELS_CLOSED_POISSON_H
#define HEADROOM_MODELS_CLOSED_POISSON_H

/* P(X = n), P(X >= n). */
double poisson_is(double m, double n);
double poisson_at_least(double m, double n);

/* Smallest n with P(X >= n) <= target, 0 < target < 1. */
double poisson_level(double m, double target);

/* E max(0, n - X): what is left of the stock on average. */
double poisson_shortfall(double m, double n);

#endif
