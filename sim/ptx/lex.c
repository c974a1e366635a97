/* Lex: the splitting of PTX text into tokens. */
#include "ptx/lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES_MAX = 64 };

void sim_lex_start(sim_lexer *lexer, const char *text, size_t bytes) {
    lexer->at = text;
    lexer->end = text + bytes;
    lexer->line = 1;
}

/* Of ASCII alone, and without the C library's tables, which are looked up for each letter. */
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool is_name_part(char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '$' || c == '.';
}

static bool is_name_start(char c) { return (is_name_part(c) && !is_digit(c)) || c == '%'; }

static char peek(const sim_lexer *lexer, size_t ahead) {
    return (size_t)(lexer->end - lexer->at) > ahead ? lexer->at[ahead] : '\0';
}

static void skip_block_comment(sim_lexer *lexer) {
    lexer->at += 2;
    while (lexer->at < lexer->end) {
        if (peek(lexer, 0) == '*' && peek(lexer, 1) == '/') {
            lexer->at += 2;
            return;
        }
        if (*lexer->at++ == '\n') lexer->line++;
    }
}

static void skip_blank(sim_lexer *lexer) {
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        if (c == '\n') {
            lexer->line++;
            lexer->at++;
        } else if (is_space(c)) {
            lexer->at++;
        } else if (c == '/' && peek(lexer, 1) == '/') {
            while (lexer->at < lexer->end && *lexer->at != '\n') lexer->at++;
        } else if (c == '/' && peek(lexer, 1) == '*') {
            skip_block_comment(lexer);
        } else {
            return;
        }
    }
}

static void take_name(sim_lexer *lexer, sim_token *token) {
    const char *start = lexer->at++;
    while (lexer->at < lexer->end) {
        if (is_name_part(*lexer->at)) {
            lexer->at++;
        } else if (peek(lexer, 0) == ':' && peek(lexer, 1) == ':' && is_name_part(peek(lexer, 2))) {
            lexer->at += 2; /* L1::no_allocate; a label's colon stands alone */
        } else {
            break;
        }
    }
    token->kind = SIM_TOKEN_NAME;
    token->text.at = start;
    token->text.length = (uint32_t)(lexer->at - start);
}

/* 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX give the bits of a float exactly. */
static bool take_float_bits(sim_lexer *lexer, sim_token *token) {
    char mark = (char)tolower((unsigned char)peek(lexer, 1));
    size_t digits = mark == 'f' ? 8 : mark == 'd' ? 16 : 0;
    if (peek(lexer, 0) != '0' || !digits) return false;
    uint64_t bits = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = peek(lexer, 2 + i);
        if (!isxdigit((unsigned char)c)) return false;
        int digit = isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
        bits = bits << 4 | (uint64_t)digit;
    }
    lexer->at += 2 + digits;
    token->kind = mark == 'f' ? SIM_TOKEN_F32 : SIM_TOKEN_F64;
    token->bits = bits;
    return true;
}

static void take_decimal_float(sim_token *token, const char *digits) {
    double value = strtod(digits, NULL);
    token->kind = SIM_TOKEN_F64;
    memcpy(&token->bits, &value, sizeof value);
}

static void take_number(sim_lexer *lexer, sim_token *token) {
    if (take_float_bits(lexer, token)) return;
    char digits[NUMBER_BYTES_MAX];
    size_t count = 0;
    bool is_fraction = false;
    bool is_hex = peek(lexer, 0) == '0' && tolower((unsigned char)peek(lexer, 1)) == 'x';
    while (count < sizeof digits - 1) {
        char c = peek(lexer, 0);
        bool sign_of_exponent = count > 0 && !is_hex && (c == '+' || c == '-') &&
                                tolower((unsigned char)digits[count - 1]) == 'e';
        if (!isalnum((unsigned char)c) && c != '.' && !sign_of_exponent) break;
        if (c == '.' || (!is_hex && tolower((unsigned char)c) == 'e')) is_fraction = true;
        digits[count++] = c;
        lexer->at++;
    }
    digits[count] = '\0';
    if (is_fraction) {
        take_decimal_float(token, digits);
        return;
    }
    char *rest = NULL;
    bool is_binary = digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B');
    token->kind = SIM_TOKEN_INTEGER;
    token->bits = is_binary ? strtoull(digits + 2, &rest, 2) : strtoull(digits, &rest, 0);
    bool has_suffix = rest && (*rest == 'U' || *rest == 'u') && rest[1] == '\0';
    if (rest && *rest && !has_suffix) token->kind = SIM_TOKEN_BAD;
}

static void take_string(sim_lexer *lexer, sim_token *token) {
    const char *start = ++lexer->at;
    while (lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n') lexer->at++;
    token->kind = peek(lexer, 0) == '"' ? SIM_TOKEN_STRING : SIM_TOKEN_BAD;
    token->mark = '"';
    token->text.at = start;
    token->text.length = (uint32_t)(lexer->at - start);
    if (token->kind == SIM_TOKEN_STRING) lexer->at++;
}

sim_token sim_lex_next(sim_lexer *lexer) {
    sim_token token = {.kind = SIM_TOKEN_END};
    skip_blank(lexer);
    token.line = lexer->line;
    token.text.at = lexer->at;
    if (lexer->at >= lexer->end || *lexer->at == '\0') return token;
    char c = *lexer->at;
    bool dot_digit = c == '.' && is_digit(peek(lexer, 1));
    if (is_digit(c) || dot_digit) {
        take_number(lexer, &token);
    } else if (is_name_start(c)) {
        take_name(lexer, &token);
    } else if (c == '"') {
        take_string(lexer, &token);
    } else {
        token.kind = strchr("{}[]()<>,;:@!|+-=*&~", c) ? SIM_TOKEN_MARK : SIM_TOKEN_BAD;
        token.mark = c;
        token.text.length = 1;
        lexer->at++;
    }
    return token;
}
