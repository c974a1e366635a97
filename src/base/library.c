/* Library: finding and loading a shared library at run time, and binding its functions. */
#define _GNU_SOURCE
#include "base/library.h"
#include "base/file.h"
#include "base/locale.h"

#include <dlfcn.h>
#include <elf.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct rdt_library {
    void *handle;
    const char *subject;
    char path[];
};

/* A search under way. */
typedef struct hunt {
    const rdt_library_search *search;
    void *handle;      /* NULL: not found yet */
    rdt_text places;   /* looked in so far */
    rdt_text refusals; /* files that are there but do not load, and why */
    bool starved;      /* host memory ran out, so a place may have been passed over */
} hunt;

/* Never unloaded: CUDA's libraries leave threads and memory behind that need their code. */
enum { OPEN_MODE = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE };

/* Folders below a root, as patterns. */
typedef struct layout {
    const char *title; /* stands before the root in the list of places */
    const char *folders[5];
} layout;

static const layout toolkit = {
    "", {"lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"}};

/* NVIDIA's wheels lie beside the other packages of a Python, below its prefix. The last pattern is
 * pyenv's, whose python3 on the PATH stands for one of several installations. */
static const layout python = {"Python's nvidia/*/lib in ",
                              {"lib/python3*/site-packages/nvidia/*/lib",
                               "lib/python3*/dist-packages/nvidia/*/lib",
                               "lib/python3/dist-packages/nvidia/*/lib",
                               "versions/*/lib/python3*/site-packages/nvidia/*/lib"}};

/* ---- loading one file -------------------------------------------------------------------- */

/* Whether text could be made. */
static bool made(hunt *hunt, const rdt_text *text) {
    hunt->starved = hunt->starved || text->failed;
    return !text->failed;
}

/* dlerror's text without the file's name in front. */
static const char *reason_of(const char *error, const char *file) {
    size_t length = strlen(file);
    bool named = !strncmp(error, file, length) && !strncmp(error + length, ": ", 2);
    return named ? error + length + 2 : error;
}

/* The fault of a file that the loader would trust, or NULL: it maps what the program headers
 * name, and a file that ends before (a copy or an installation cut short) kills the process. */
static const char *defect_of(const char *path) {
    struct stat info;
    ElfW(Ehdr) header;
    if (!strchr(path, '/') || stat(path, &info))
        return NULL; /* the loader's own search, or message */
    if (!S_ISREG(info.st_mode)) return "it is no regular file";
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    const char *defect = NULL;
    bool known =
        fread(&header, sizeof header, 1, file) == 1 && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
        header.e_phentsize == sizeof(ElfW(Phdr)) && !fseek(file, (long)header.e_phoff, SEEK_SET);
    for (int i = 0; known && !defect && i < header.e_phnum; i++) {
        ElfW(Phdr) part;
        if (fread(&part, sizeof part, 1, file) != 1 ||
            (part.p_type == PT_LOAD && part.p_offset + part.p_filesz > (uint64_t)info.st_size))
            defect = "the file is cut short; install it again";
    }
    fclose(file);
    return defect;
}

/* NULL: *error says why, if the loader does. */
static void *open_file(const char *file, const char **error) {
    *error = defect_of(file);
    void *handle = *error ? NULL : dlopen(file, OPEN_MODE);
    if (!handle && !*error) *error = rdt_locale_dlerror();
    return handle;
}

/* Tries a path, or a bare name on the loader's path. A file that is there but does not load, or
 * whose own libraries are missing, is worth telling; that a name is nowhere is not. */
static void try_file(hunt *hunt, const char *file) {
    const char *error;
    hunt->handle = open_file(file, &error);
    if (hunt->handle || !error) return;
    const char *reason = reason_of(error, file);
    if (!strchr(file, '/') && reason != error &&
        !strncmp(reason, "cannot open shared object file", 30))
        return;
    rdt_text_addf(&hunt->refusals, "%s%s: %s", hunt->refusals.length ? "; " : "", file, reason);
}

/* ---- the places, in order ---------------------------------------------------------------- */

static void note_place(hunt *hunt, const char *place) {
    rdt_text_addf(&hunt->places, "%s%s", hunt->places.length ? ", " : "", place);
}

static bool is_noted(const hunt *hunt, const char *place) {
    size_t length = strlen(place);
    const char *at = hunt->places.data ? strstr(hunt->places.data, place) : NULL;
    while (at && at[length] && at[length] != ',') at = strstr(at + 1, place);
    return at != NULL;
}

static void look_in_process(hunt *hunt) {
    for (const char *const *name = hunt->search->names; *name && !hunt->handle; name++)
        hunt->handle = dlopen(*name, OPEN_MODE | RTLD_NOLOAD);
    dlerror();
}

static void look_on_path(hunt *hunt) {
    note_place(hunt, "the loader's path");
    for (const char *const *name = hunt->search->names; *name && !hunt->handle; name++)
        try_file(hunt, *name);
}

/* A folder's path in a pattern: it may have brackets in its name. */
static void add_escaped(rdt_text *pattern, const char *path) {
    for (; *path; path++) rdt_text_addf(pattern, strchr("*?[\\", *path) ? "\\%c" : "%c", *path);
}

static void try_pattern(hunt *hunt, const char *pattern) {
    glob_t paths = {0};
    int rc = glob(pattern, 0, NULL, &paths);
    for (size_t i = 0; !rc && i < paths.gl_pathc && !hunt->handle; i++)
        if (rdt_file_exists(paths.gl_pathv[i])) try_file(hunt, paths.gl_pathv[i]);
    if (rc == GLOB_NOSPACE) hunt->starved = true;
    globfree(&paths);
}

static void look_below(hunt *hunt, const char *root, const layout *layout) {
    if (!root || !*root || hunt->handle) return;
    rdt_text place = {0};
    rdt_text_addf(&place, "%s%s", layout->title, root);
    bool seen = !made(hunt, &place) || is_noted(hunt, place.data);
    if (!seen) note_place(hunt, place.data);
    rdt_text_free(&place);
    for (const char *const *folder = layout->folders; *folder && !seen; folder++) {
        for (const char *const *name = hunt->search->names; *name && !hunt->handle; name++) {
            rdt_text pattern = {0};
            add_escaped(&pattern, root);
            rdt_text_addf(&pattern, "/%s/%s", *folder, *name);
            if (made(hunt, &pattern)) try_pattern(hunt, pattern.data);
            rdt_text_free(&pattern);
        }
    }
}

/* The prefix of the first python3 on the PATH: the folder above its bin/. A virtual environment's
 * python3 is a link, so the link's own place counts and not what it points to. */
static void look_in_python_on_path(hunt *hunt) {
    const char *folder = getenv("PATH");
    while (folder && *folder && !hunt->handle) {
        int length = (int)strcspn(folder, ":");
        rdt_text path = {0};
        rdt_text_addf(&path, "%.*s/python3", length, folder);
        if (made(hunt, &path) && length && rdt_file_exists(path.data)) {
            path.data[length] = '\0';
            char *above = strrchr(path.data, '/');
            if (above) *above = '\0';
            look_below(hunt, path.data, &python);
            rdt_text_free(&path);
            return;
        }
        rdt_text_free(&path);
        folder += length + (folder[length] == ':');
    }
}

static void look_in_home(hunt *hunt) {
    const char *home = getenv("HOME");
    if (!home || !*home) return;
    rdt_text prefix = {0};
    rdt_text_addf(&prefix, "%s/.local", home);
    if (made(hunt, &prefix)) look_below(hunt, prefix.data, &python);
    rdt_text_free(&prefix);
}

static void look_everywhere(hunt *hunt) {
    look_in_process(hunt);
    if (hunt->search->loaded) {
        note_place(hunt, "what this process has loaded");
        return;
    }
    if (!hunt->handle) look_on_path(hunt);
    if (!hunt->search->toolkit) return;
    look_below(hunt, getenv("CUDA_PATH"), &toolkit);
    look_below(hunt, getenv("CUDA_HOME"), &toolkit);
    look_below(hunt, "/usr/local/cuda", &toolkit);
    look_below(hunt, getenv("VIRTUAL_ENV"), &python);
    look_below(hunt, getenv("CONDA_PREFIX"), &python);
    look_in_python_on_path(hunt);
    look_in_home(hunt);
    look_below(hunt, "/usr/local", &python);
    look_below(hunt, "/usr", &python);
}

/* ---- the outcome ------------------------------------------------------------------------- */

/* Takes over handle, also on failure. name is what it was opened by. */
static redtune_status make_library(const rdt_library_search *search, void *handle, const char *name,
                                   rdt_library **out, redtune_error *err) {
    struct link_map *map = NULL;
    if (!dlinfo(handle, RTLD_DI_LINKMAP, &map) && map && map->l_name && *map->l_name)
        name = map->l_name;
    size_t bytes = sizeof(rdt_library) + strlen(name) + 1;
    rdt_library *library = malloc(bytes);
    if (!library) {
        dlclose(handle);
        return rdt_fail_memory(err, bytes);
    }
    *library = (rdt_library){handle, search->subject};
    strcpy(library->path, name);
    *out = library;
    return REDTUNE_OK;
}

/* Adds as much of string as leaves `spare` bytes of a message free, and says where it cut. */
static void add_shortened(rdt_text *text, const char *string, size_t spare) {
    size_t limit = sizeof((redtune_error *)0)->message - 1;
    size_t room = text->length + spare < limit ? limit - text->length - spare : 0;
    size_t length = strlen(string);
    if (length <= room) {
        rdt_text_add_bytes(text, string, length);
    } else if (room > 3) {
        rdt_text_add_bytes(text, string, room - 3);
        rdt_text_add(text, "...");
    }
}

/* The remedy always fits: what was refused and the places give way, the places first. */
static redtune_status not_found(const hunt *hunt, redtune_error *err) {
    const rdt_library_search *search = hunt->search;
    enum { PLACES_BYTES = 200 };
    size_t remedy_bytes = strlen(search->remedy) + strlen("; ");
    rdt_text message = {0};
    rdt_text_addf(&message, "cannot %s %s (", hunt->refusals.length ? "load" : "find",
                  search->subject);
    for (const char *const *name = search->names; *name; name++)
        rdt_text_addf(&message, "%s%s", name == search->names ? "" : ", ", *name);
    rdt_text_add(&message, "): ");
    if (hunt->refusals.length) {
        add_shortened(&message, hunt->refusals.data, remedy_bytes + PLACES_BYTES);
        rdt_text_add(&message, "; ");
    }
    rdt_text_add(&message, "looked in ");
    add_shortened(&message, hunt->places.data ? hunt->places.data : "", remedy_bytes);
    rdt_text_addf(&message, "; %s", search->remedy);
    redtune_status status = message.failed ? rdt_fail_memory(err, message.length)
                                           : rdt_fail(err, REDTUNE_LIBRARY, 0, "%s", message.data);
    rdt_text_free(&message);
    return status;
}

static redtune_status open_chosen(const rdt_library_search *search, const char *path,
                                  rdt_library **out, redtune_error *err) {
    const char *error;
    void *handle = open_file(path, &error);
    if (handle) return make_library(search, handle, path, out, err);
    const char *reason = error ? reason_of(error, path) : "unknown error";
    return rdt_fail(err, REDTUNE_LIBRARY, 0,
                    "cannot load %s from %s=%.200s: %.300s; set %s to the library's file, or "
                    "unset it",
                    search->subject, search->variable, path, reason, search->variable);
}

redtune_status rdt_library_open(const rdt_library_search *search, rdt_library **out,
                                redtune_error *err) {
    const char *chosen = getenv(search->variable);
    if (chosen && *chosen) return open_chosen(search, chosen, out, err);
    hunt hunt = {.search = search};
    look_everywhere(&hunt);
    redtune_status status;
    if (hunt.starved || hunt.places.failed || hunt.refusals.failed) {
        if (hunt.handle) dlclose(hunt.handle);
        status = rdt_fail_memory(err, hunt.places.length + hunt.refusals.length);
    } else if (hunt.handle) {
        status = make_library(search, hunt.handle, search->names[0], out, err);
    } else {
        status = not_found(&hunt, err);
    }
    rdt_text_free(&hunt.places);
    rdt_text_free(&hunt.refusals);
    return status;
}

void rdt_library_close(rdt_library *library) {
    if (!library) return;
    dlclose(library->handle);
    free(library);
}

void rdt_library_load_beside(const rdt_library *library, const char *name) {
    const char *slash = strrchr(library->path, '/'), *error;
    const int length = slash ? (int)(slash - library->path) : 0;
    char path[PATH_MAX];
    if (!slash || snprintf(path, sizeof path, "%.*s/%s", length, library->path, name) >= PATH_MAX)
        return;
    void *handle = open_file(path, &error);
    if (!handle) handle = open_file(name, &error);
    if (handle) dlclose(handle); /* it stays, by OPEN_MODE */
}

const char *rdt_library_path(const rdt_library *library) { return library->path; }

/* ---- its build ID ------------------------------------------------------------------------ */

typedef struct build_search {
    ElfW(Addr) base; /* of the library */
    char *out;
    size_t bytes;
} build_search;

static void write_build(const build_search *self, const unsigned char *id, size_t id_bytes) {
    for (size_t i = 0; i < id_bytes && 2 * i + 3 <= self->bytes; i++)
        snprintf(self->out + 2 * i, 3, "%02x", id[i]);
}

/* Notes are a header, a name and a content, each of whole words. */
static int look_for_build(struct dl_phdr_info *info, size_t bytes, void *user) {
    const build_search *self = user;
    (void)bytes;
    for (int i = 0; info->dlpi_addr == self->base && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const unsigned char *at = (const unsigned char *)(info->dlpi_addr + part->p_vaddr);
        const unsigned char *end = at + part->p_memsz;
        while (part->p_type == PT_NOTE && (size_t)(end - at) > sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const void *)at;
            const size_t name = (note->n_namesz + 3U) & ~3U, content = (note->n_descsz + 3U) & ~3U;
            at += sizeof *note;
            if (name + content > (size_t)(end - at)) break;
            if (note->n_type == NT_GNU_BUILD_ID && name == 4 && !memcmp(at, "GNU", 4)) {
                write_build(self, at + name, note->n_descsz);
                return 1;
            }
            at += name + content;
        }
    }
    return 0;
}

void rdt_library_build(const rdt_library *library, char *out, size_t bytes) {
    struct link_map *map = NULL;
    out[0] = '\0';
    if (dlinfo(library->handle, RTLD_DI_LINKMAP, &map) || !map) return;
    build_search search = {map->l_addr, out, bytes};
    dl_iterate_phdr(look_for_build, &search);
}

redtune_status rdt_library_bind(const rdt_library *library, const rdt_library_symbol *symbols,
                                size_t symbol_count, void *table, redtune_error *err) {
    for (size_t i = 0; i < symbol_count; i++)
        if (!symbols[i].optional && !dlsym(library->handle, symbols[i].name))
            return rdt_fail(
                err, REDTUNE_LIBRARY, 0,
                "cannot use %s %s: it has no %s; install a newer version, or correct the "
                "variable that names this file",
                library->subject, library->path, symbols[i].name);
    for (size_t i = 0; i < symbol_count; i++) {
        void *address = dlsym(library->handle, symbols[i].name);
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    return REDTUNE_OK;
}
