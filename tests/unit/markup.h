/* Markup: a checker of pages for tests: well-formed XML of known elements and attributes, with
 * nothing that runs or is loaded from elsewhere, except one script, the page's own, at the end. */
#pragma once

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MARKUP_DEPTH_MAX = 64, MARKUP_NAME_BYTES = 32 };

static const char *const markup_elements =
    " html head meta title style body header main section footer nav div span p a b code h1 h2 h3"
    " br ul ol li table caption thead tbody tr th td figure figcaption"
    " wbr svg line rect circle polyline text details summary ";
static const char *const markup_attributes =
    " xmlns lang xml:lang charset name http-equiv content id class href role open aria-label"
    " aria-hidden viewBox"
    " x y x1 y1 x2 y2 cx cy r rx width height points ";
static const char *const markup_entities = " amp lt gt quot #39 ";

typedef struct markup {
    const char *at;
    char open[MARKUP_DEPTH_MAX][MARKUP_NAME_BYTES];
    int depth;
    char wrong[160]; /* what is wrong; "": nothing */
} markup;

static bool markup_fail(markup *self, const char *what, const char *name) {
    snprintf(self->wrong, sizeof self->wrong, "%s '%.40s' near '%.40s'", what, name, self->at);
    return false;
}

static bool markup_known(const char *list, const char *name) {
    char word[MARKUP_NAME_BYTES + 2];
    snprintf(word, sizeof word, " %s ", name);
    return strstr(list, word) != NULL;
}

static void markup_name(markup *self, char name[MARKUP_NAME_BYTES]) {
    size_t n = 0;
    while (n + 1 < MARKUP_NAME_BYTES && (isalnum((unsigned char)*self->at) || *self->at == ':' ||
                                         *self->at == '-' || *self->at == '#'))
        name[n++] = *self->at++;
    name[n] = '\0';
}

static bool markup_entity(markup *self) {
    char name[MARKUP_NAME_BYTES];
    self->at++;
    markup_name(self, name);
    if (*self->at++ == ';' && markup_known(markup_entities, name)) return true;
    return markup_fail(self, "no such entity", name);
}

static bool markup_attribute(markup *self) {
    char name[MARKUP_NAME_BYTES];
    markup_name(self, name);
    if (!markup_known(markup_attributes, name)) return markup_fail(self, "no attribute", name);
    if (self->at[0] != '=' || self->at[1] != '"') return markup_fail(self, "no value of", name);
    self->at += 2;
    if (!strcmp(name, "href") && *self->at != '#') return markup_fail(self, "leads out", name);
    while (*self->at && *self->at != '"') {
        if (*self->at == '<') return markup_fail(self, "< in the value of", name);
        if (*self->at != '&')
            self->at++;
        else if (!markup_entity(self))
            return false;
    }
    return *self->at++ == '"' || markup_fail(self, "no end of", name);
}

static bool markup_tag(markup *self) {
    char name[MARKUP_NAME_BYTES];
    bool closes = self->at[1] == '/';
    self->at += closes ? 2 : 1;
    markup_name(self, name);
    if (!markup_known(markup_elements, name)) return markup_fail(self, "no element", name);
    if (closes) {
        if (*self->at++ != '>' || !self->depth || strcmp(self->open[--self->depth], name))
            return markup_fail(self, "nothing to close by", name);
        return true;
    }
    while (*self->at == ' ') {
        self->at++;
        if (!markup_attribute(self)) return false;
    }
    if (self->at[0] == '/' && self->at[1] == '>') {
        self->at += 2;
        return true;
    }
    if (*self->at++ != '>' || self->depth == MARKUP_DEPTH_MAX)
        return markup_fail(self, "no end of the tag", name);
    snprintf(self->open[self->depth++], MARKUP_NAME_BYTES, "%s", name);
    return true;
}

/* Goes over the script, which has neither tags nor entities; nothing of the page comes after it. */
static bool markup_script(markup *self) {
    static const char begin[] = "<script>\n", end[] = "</script>\n</body>\n</html>\n";
    const char *last = strstr(self->at, end);
    self->at += sizeof begin - 1;
    if (!last || strcspn(self->at, "<&") != (size_t)(last - self->at) || last[sizeof end - 1])
        return markup_fail(self, "no script of the page's", "");
    self->at = last + strlen("</script>");
    return true;
}

/* Whether the page is well-formed; if not, wrong says why. */
static bool markup_check(markup *self, const char *page) {
    static const char doctype[] = "<!DOCTYPE html>\n";
    *self = (markup){.at = page};
    if (strncmp(page, doctype, sizeof doctype - 1)) return markup_fail(self, "no doctype", "");
    self->at += sizeof doctype - 1;
    while (*self->at) {
        unsigned char c = (unsigned char)*self->at;
        if (!strncmp(self->at, "<script>\n", 9)) {
            if (!markup_script(self)) return false;
        } else if (c == '<') {
            if (!markup_tag(self)) return false;
        } else if (c == '&') {
            if (!markup_entity(self)) return false;
        } else if (c == 0x7f || (c < ' ' && c != '\n')) {
            return markup_fail(self, "a control character", "");
        } else {
            self->at++;
        }
    }
    return !self->depth || markup_fail(self, "not closed", self->open[self->depth - 1]);
}
