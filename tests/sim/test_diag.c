/* Diagnostics: the printed form to the letter, hostile text, limits, and the nearest name. */
#include "sim/diag.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static char *printed(const struct diags *d, bool colour)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    diags_print(d, out, colour);
    fclose(out);
    return text;
}

static void expect(const struct diags *d, const char *want)
{
    char *text = printed(d, false);
    cr_assert_str_eq(text, want);
    free(text);
}

Test(diag, prints_place_line_caret_and_nearest)
{
    struct diags d;
    diags_init(&d);
    diags_add(&d, DIAG_ERROR, (struct diag_place){"x.yaml", 12, 5}, "    flor: 64", "floor",
              "unknown key '%s'", "flor");
    diags_add(&d, DIAG_WARNING, (struct diag_place){"x.yaml", 3, 0}, NULL, NULL, "load is %d %%",
              4);
    diags_add(&d, DIAG_NOTE, (struct diag_place){NULL, 0, 0}, NULL, NULL, "no place");
    diags_add(&d, DIAG_ERROR, (struct diag_place){"--set", 0, 0}, NULL, NULL, "no such path");
    cr_assert_eq(d.n_errors, 2);
    cr_assert_eq(d.n_warnings, 1);
    expect(&d,
           "x.yaml:12:5: error: unknown key 'flor'\n"
           "        flor: 64\n"
           "        ^\n"
           "  nearest: 'floor'\n"
           "x.yaml:3: warning: load is 4 %\n"
           "note: no place\n"
           "--set: error: no such path\n");
    diags_fini(&d);
}

Test(diag, colour_only_when_asked)
{
    struct diags d;
    diags_init(&d);
    diags_add(&d, DIAG_ERROR, (struct diag_place){"f", 1, 1}, "x", NULL, "bad");
    char *plain = printed(&d, false), *colour = printed(&d, true);
    cr_assert_null(strchr(plain, '\x1b'));
    cr_assert(strstr(colour, "\x1b[31m"));
    free(plain);
    free(colour);
    diags_fini(&d);
}

Test(diag, caret_counts_characters_and_tabs_not_bytes)
{
    struct diags d;
    diags_init(&d);
    diags_add(&d, DIAG_ERROR, (struct diag_place){"f", 1, 6}, "\t\xC3\xA9\xE2\x82\xAC: x", NULL,
              "e");
    expect(&d,
           "f:1:6: error: e\n"
           "     \xC3\xA9\xE2\x82\xAC: x\n"
           "         ^\n");
    diags_fini(&d);
}

Test(diag, hostile_text_is_shown_escaped)
{
    struct diags d;
    diags_init(&d);
    diags_add(&d, DIAG_ERROR, (struct diag_place){"a\x1b[2J", 1, 4},
              "\x01\xFF\xC2\x9B"
              "k",
              "n\x07", "key '\x1b]0;x\x07\xE2\x80\xAE'");
    expect(&d,
           "a\\x1B[2J:1:4: error: key '\\x1B]0;x\\x07\\xE2\\x80\\xAE'\n"
           "    \\x01\\xFF\\xC2\\x9Bk\n"
           "                    ^\n"
           "  nearest: 'n\\x07'\n");
    diags_fini(&d);
}

Test(diag, long_lines_are_cut_around_the_column)
{
    struct diags d;
    diags_init(&d);
    char line[5001];
    memset(line, '[', 5000);
    line[5000] = '\0';
    line[2999] = 'X';
    diags_add(&d, DIAG_ERROR, (struct diag_place){"f", 1, 3000}, line, NULL, "here");
    diags_add(&d, DIAG_ERROR, (struct diag_place){"f", 1, 5}, line, NULL, "start");
    diags_add(&d, DIAG_ERROR, (struct diag_place){"f", 1, 5001}, line, NULL, "end");
    for (size_t i = 0; i < 3; i++) {
        cr_assert_leq(strlen(d.items[i].source), 97);
        cr_assert_leq(d.items[i].caret, strlen(d.items[i].source) + 1);
    }
    cr_assert_eq(d.items[0].source[d.items[0].caret - 1], 'X');
    cr_assert_eq(d.items[0].column, 3000);
    cr_assert_eq(d.items[1].caret, 5);
    diags_fini(&d);
}

Test(diag, keeps_a_hundred_and_counts_the_rest)
{
    struct diags d;
    diags_init(&d);
    for (int i = 0; i < 250; i++)
        diags_add(&d, DIAG_ERROR, (struct diag_place){"f", 1, 1}, NULL, NULL, "%d", i);
    cr_assert_eq(d.n, 100);
    cr_assert_eq(d.n_errors, 250);
    char *text = printed(&d, false);
    cr_assert(strstr(text, "150 more not shown\n"));
    free(text);
    diags_fini(&d);
}

Test(diag, keeps_a_warning_once_and_every_error)
{
    struct diags d;
    diags_init(&d);
    const struct diag_place here = {"f", 1, 1}, there = {"g", 1, 1};
    for (int i = 0; i < 3; i++) {
        diags_add(&d, DIAG_WARNING, here, NULL, NULL, "odd");
        diags_add(&d, DIAG_WARNING, there, NULL, NULL, "odd");
        diags_add(&d, DIAG_NOTE, here, NULL, NULL, "so");
        diags_add(&d, DIAG_ERROR, here, NULL, NULL, "bad");
    }
    cr_assert_eq(d.n_warnings, 2);
    cr_assert_eq(d.n_errors, 3);
    cr_assert_eq(d.n, 6);
    diags_fini(&d);
}

Test(diag, sorts_by_place_and_keeps_the_order_of_equals)
{
    struct diags d = {0};
    static const uint32_t places[][2] = {{9, 9}, {3, 4}, {1, 7}, {3, 4}, {0, 0}, {1, 2}};
    for (size_t i = 0; i < 6; i++)
        diags_add(&d, DIAG_ERROR, (struct diag_place){"f", places[i][0], places[i][1]}, NULL, NULL,
                  "%zu", i);
    diags_sort(&d, 1);
    char order[7] = "";
    for (size_t i = 0; i < 6; i++)
        order[i] = d.items[i].text[0];
    cr_assert_str_eq(order, "045213");
    diags_fini(&d);
}

Test(diag, long_texts_end_in_dots)
{
    struct diags d = {0};
    char word[4000];
    memset(word, 'w', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    diags_add(&d, DIAG_ERROR, (struct diag_place){NULL, 0, 0}, NULL, NULL, "%s", word);
    cr_assert_eq(strlen(d.items[0].text), 1023);
    cr_assert_str_eq(d.items[0].text + 1020, "...");
    diags_fini(&d);
    diags_fini(&d);
}

Test(diag, nearest_name)
{
    static const char *const names[] = {"floor", "ceiling", "lend", "priority", "max_num_seqs"};
    cr_assert_str_eq(diag_nearest("flor", names, 5), "floor");
    cr_assert_str_eq(diag_nearest("flooor", names, 5), "floor");
    cr_assert_str_eq(diag_nearest("lfoor", names, 5), "floor");
    cr_assert_str_eq(diag_nearest("FLOOR", names, 5), "floor");
    cr_assert_str_eq(diag_nearest("prioriti", names, 5), "priority");
    cr_assert_str_eq(diag_nearest("max_seqs", names, 5) ? "found" : "none", "none");
    cr_assert_str_eq(diag_nearest("max_num_seq", names, 5), "max_num_seqs");
    cr_assert_null(diag_nearest("xyz", names, 5));
    cr_assert_null(diag_nearest("", names, 5));
    cr_assert_null(diag_nearest("flor", names, 0));
}

Test(diag, nearest_takes_the_first_of_equals)
{
    static const char *const names[] = {"bat", "cat", "hat"};
    cr_assert_str_eq(diag_nearest("mat", names, 3), "bat");
    cr_assert_str_eq(diag_nearest("hat", names, 3), "hat");
}

Test(diag, nearest_of_a_huge_word_is_none)
{
    static const char *const names[] = {"floor"};
    char word[10000];
    memset(word, 'f', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    cr_assert_null(diag_nearest(word, names, 1));
}
