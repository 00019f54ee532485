/* Dates and times of day. */
#include "scenarios/moment.h"

#include <math.h>
#include <string.h>

#define DAY_S 86400.0

/* Two or four digits, then the character that must follow (NUL: any). */
static bool take(const char **p, size_t digits, char after, unsigned *value)
{
    *value = 0;
    for (size_t i = 0; i < digits; i++, (*p)++) {
        if (**p < '0' || **p > '9')
            return false;
        *value = *value * 10 + (unsigned)(**p - '0');
    }
    if (after == '\0')
        return true;
    return *(*p)++ == after;
}

static bool is_date(unsigned year, unsigned month, unsigned day)
{
    static const unsigned days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return year >= 1970 && month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (leap && month == 2);
}

bool moment_start(const char *text, char date[MOMENT_DATE_BYTES], double *day_s)
{
    unsigned year, month, day, hour = 0, minute = 0, second = 0;
    const char *p = text;
    if (!take(&p, 4, '-', &year) || !take(&p, 2, '-', &month) || !take(&p, 2, '\0', &day))
        return false;
    if (*p == ' ' || *p == 'T') {
        p++;
        if (!take(&p, 2, ':', &hour) || !take(&p, 2, '\0', &minute))
            return false;
        if (*p == ':' && (p++, !take(&p, 2, '\0', &second)))
            return false;
    }
    if (*p || !is_date(year, month, day) || hour > 23 || minute > 59 || second > 59)
        return false;
    snprintf(date, MOMENT_DATE_BYTES, "%04u-%02u-%02u %02u:%02u:%02u", year % 10000, month % 100,
             day % 100, hour % 100, minute % 100, second % 100);
    *day_s = hour * 3600.0 + minute * 60.0 + second;
    return true;
}

double moment_since_start_s(struct field_moment m, double day_s)
{
    if (!m.clock)
        return m.s;
    double days = floor(m.s / DAY_S), after = m.s - days * DAY_S - day_s;
    return days * DAY_S + (after < 0 ? after + DAY_S : after);
}

double moment_of_day_s(struct field_moment m, double day_s)
{
    return fmod(m.clock ? m.s : m.s + day_s, DAY_S);
}
