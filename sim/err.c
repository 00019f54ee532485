/* The texts of the error list. */
#include "sim/err.h"

const char *hr_err_text(enum hr_err err)
{
#define HR_ERR_TEXT(code, text) text,
    static const char *const texts[] = {HR_ERR_LIST(HR_ERR_TEXT)};
#undef HR_ERR_TEXT
    return (unsigned)err < HR_ERR_COUNT ? texts[err] : "unknown error";
}
