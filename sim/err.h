/* Errors as values.
 *
 * Every function that can fail returns enum hr_err (0 is success) and writes its outputs through
 * pointers. What a user wrote wrong is described in a struct diags besides (sim/diag.h).
 * Programming errors are asserts. There is no third way: no errno, no longjmp, no abort. */
#ifndef HEADROOM_SIM_ERR_H
#define HEADROOM_SIM_ERR_H

#define HR_ERR_LIST(X)                                                                             \
    X(OK, "ok")                                                                                    \
    X(NOMEM, "out of memory")                                                                      \
    X(INPUT, "bad input")                                                                          \
    X(IO, "reading or writing failed")                                                             \
    X(LIMIT, "a built-in limit was reached")                                                       \
    X(INTERRUPTED, "interrupted")

#define HR_ERR_ENUM(code, text) HR_##code,
enum hr_err { HR_ERR_LIST(HR_ERR_ENUM) HR_ERR_COUNT };
#undef HR_ERR_ENUM

/* One line of English for an error, never NULL; static storage. */
const char *hr_err_text(enum hr_err err);

/* Forward an error to the caller. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        enum hr_err try_err_ = (expr);                                                             \
        if (try_err_ != HR_OK)                                                                     \
            return try_err_;                                                                       \
    } while (0)

#endif
