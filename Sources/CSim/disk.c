// A disk in memory. Every operation on names and data is kept with what has synced it, so that a power cut can leave any disk
// that the rules of POSIX, or of a journal, allow: the models of benchmarks/powerloss.py.
#define _GNU_SOURCE
#include "inside.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { FIRST = 1 << 20, FILES = 256, SECTOR = 512 };

typedef struct node node;
typedef struct {
  char kind;  // W write, T truncate, A allocate; C create, M make a folder, U unlink, D remove a folder, R rename, X exchange, L link
  bool posix, journal;  // synced by the one's rules, by the other's
  int64_t number, at;
  node *node, *parent, *target;
  char *name, *other;
  uint8_t *data;
  size_t size;
} op;
typedef struct { op **list; int count, room; } ops;
typedef struct { char *name; node *node; } entry;

struct node {
  node *next;
  bool folder;
  uint64_t inode;
  uint8_t *now, *first;  // its bytes, and those at the disk's beginning
  size_t size, room, first_size;
  ops data;
  entry *entries;
  int entry_count, entry_room;
  int links, opened;
  int64_t modified;
  void *lock;
  node *image;  // while a copy is made
};
struct sim_disk {
  node *nodes, *root;
  ops names, everything;
  int64_t number;
  uint64_t inodes, device;
};

typedef struct { node *node; int uses, flags; } file;
static file *files[FILES];
static sim_disk *disk;
static int64_t calls, least, most, sync_most, room, trouble;
static bool no_locks, no_flags, no_syncs;
static struct { int kinds, error, count; } fault;
static struct { int kinds, count; int64_t time; } stall;
static struct crash { int64_t call; int model, spread; uint64_t seed; } *crashes;
static int crash_count, crash_room;
static sim_image *images;
static int image_count, image_room;
static uint64_t devices;

#define GROW(list, count, room) \
  do { if ((count) == (room)) { (room) = (room) ? 2 * (room) : 8; (list) = realloc((list), sizeof *(list) * (size_t)(room)); if (!(list)) abort(); } } while (0)

// MARK: nodes

static node *new_node(sim_disk *d, bool folder) {
  node *n = calloc(1, sizeof *n);
  if (!n) abort();
  n->folder = folder;
  n->inode = ++d->inodes;
  n->modified = machine_wall();
  n->next = d->nodes;
  d->nodes = n;
  return n;
}
static entry *find(node *folder, const char *name) {
  for (int i = 0; i < folder->entry_count; i++)
    if (!strcmp(folder->entries[i].name, name)) return &folder->entries[i];
  return NULL;
}
static void link_name(node *folder, const char *name, node *n) {
  GROW(folder->entries, folder->entry_count, folder->entry_room);
  folder->entries[folder->entry_count++] = (entry){strdup(name), n};
  n->links++;
  folder->modified = machine_wall();
}
static void unlink_name(node *folder, const char *name) {
  entry *e = find(folder, name);
  e->node->links--;
  free(e->name);
  *e = folder->entries[--folder->entry_count];
  folder->modified = machine_wall();
}
static void resize(uint8_t **bytes, size_t *size, size_t *space, size_t want) {
  if (want > *space) {
    *space = want + want / 2 + 256;
    *bytes = realloc(*bytes, *space);
    if (!*bytes) abort();
  }
  if (want > *size) memset(*bytes + *size, 0, want - *size);
  *size = want;
}
/// Does what an operation does to bytes; the first `keep` of what it writes.
static void apply(uint8_t **bytes, size_t *size, size_t *space, const op *o, size_t keep) {
  size_t at = (size_t)o->at;
  if (o->kind == 'W') {
    if (!keep) return;
    if (at + keep > *size) resize(bytes, size, space, at + keep);
    memcpy(*bytes + at, o->data, keep);
  } else if (o->kind == 'T' || at > *size) {
    resize(bytes, size, space, at);
  }
}
static op *note(char kind, node *n, node *parent, const char *name) {
  op *o = calloc(1, sizeof *o);
  if (!o) abort();
  o->kind = kind;
  o->node = n;
  o->parent = parent;
  o->name = name ? strdup(name) : NULL;
  o->number = disk->number++;
  ops *list = strchr("WTA", kind) ? &n->data : &disk->names;
  GROW(list->list, list->count, list->room);
  list->list[list->count++] = o;
  GROW(disk->everything.list, disk->everything.count, disk->everything.room);
  disk->everything.list[disk->everything.count++] = o;
  return o;
}
static void change(node *n, char kind, int64_t at, const void *bytes, size_t size) {
  op *o = note(kind, n, NULL, NULL);
  o->at = at;
  o->size = size;
  if (size) {
    o->data = malloc(size);
    if (!o->data) abort();
    memcpy(o->data, bytes, size);
  }
  apply(&n->now, &n->size, &n->room, o, size);
  n->modified = machine_wall();
}

static node *holder(const op *o) { return o->target ? o->target : o->parent; }
static bool touches(const op *o, const node *n) { return o->node == n || holder(o) == n || o->parent == n; }
/// A sync of a node that began before operation `number` has ended.
static void synced(node *n, int64_t number) {
  bool brings = false;
  for (int i = 0; i < n->data.count; i++) {
    op *o = n->data.list[i];
    if (o->number >= number || o->posix) continue;
    o->posix = o->journal = brings = true;
  }
  for (int i = 0; i < disk->names.count; i++) {
    op *o = disk->names.list[i];
    if (o->number >= number) continue;
    if (holder(o) == n) o->posix = true;
    if (!o->journal && touches(o, n)) brings = true;
  }
  if (!brings) return;
  for (int i = 0; i < disk->names.count; i++)
    if (disk->names.list[i]->number < number) disk->names.list[i]->journal = true;
}

// MARK: copies

static bool sure(const op *o, int model) { return model == SIM_JOURNAL ? o->journal : o->posix; }
typedef struct { uint8_t *bytes; size_t size, room; } text;
static text run(const node *n, op **chosen, int count) {
  text t = {0};
  resize(&t.bytes, &t.size, &t.room, n->first_size);
  if (n->first_size) memcpy(t.bytes, n->first, n->first_size);
  for (int i = 0; i < count; i++) apply(&t.bytes, &t.size, &t.room, chosen[i], chosen[i]->size);
  return t;
}
/// A file's bytes behind a power cut.
static text content(const node *n, int model, int spread, uint64_t *rng) {
  int all = n->data.count;
  op **list = n->data.list;
  op **pick = malloc(sizeof *pick * (size_t)(all + 1)), **loose = malloc(sizeof *loose * (size_t)(all + 1));
  int firm = 0, free_count = 0;
  for (int i = 0; i < all; i++) {
    if (sure(list[i], model)) pick[firm++] = list[i]; else loose[free_count++] = list[i];
  }
  text t;
  unsigned way = spread == 2 ? (unsigned)(chance(rng) % 6) : spread == 1 ? 1 : 0;
  if (!free_count || way == 1) {
    t = run(n, list, all);
  } else if (way == 0) {
    t = run(n, pick, firm);
  } else if (way == 2) {  // some of them
    uint64_t share = (uint64_t[]){2, 5, 8}[chance(rng) % 3];
    int count = 0;
    for (int i = 0; i < all; i++)
      if (sure(list[i], model) || chance(rng) % 10 < share) pick[count++] = list[i];
    t = run(n, pick, count);
  } else {
    int k = (int)(chance(rng) % (unsigned)free_count);
    memcpy(pick + firm, loose, sizeof *pick * (size_t)k);
    t = run(n, pick, firm + k);
    if (way == 3) {  // the first few, and a torn one
      if (loose[k]->kind == 'W') apply(&t.bytes, &t.size, &t.room, loose[k], (size_t)(chance(rng) % (loose[k]->size + 1)));
    } else {
      text full = run(n, list, all);
      if (way == 4) {  // its size, and zeros
        if (full.size > t.size) resize(&t.bytes, &t.size, &t.room, full.size);
      } else {  // each sector as one of three moments had it
        memcpy(pick + firm, loose, sizeof *pick * (size_t)free_count);
        text firmly = run(n, pick, firm), *of[3] = {&firmly, &t, &full};
        text out = {0};
        size_t size = of[chance(rng) % 3]->size;
        if (size < firmly.size) size = firmly.size;
        resize(&out.bytes, &out.size, &out.room, size);
        for (size_t at = 0; at < size; at += SECTOR) {
          text *from = of[chance(rng) % 3];
          size_t end = at + SECTOR < size ? at + SECTOR : size;
          for (size_t i = at; i < end; i++) out.bytes[i] = i < from->size ? from->bytes[i] : 0;
        }
        free(firmly.bytes);
        free(t.bytes);
        t = out;
      }
      free(full.bytes);
    }
  }
  free(pick);
  free(loose);
  return t;
}

static node *copy_node(sim_disk *to, node *n, text t) {
  node *c = new_node(to, n->folder);
  c->inode = n->inode;
  if (n->inode > to->inodes) to->inodes = n->inode;
  c->modified = n->modified;
  c->now = t.bytes;
  c->size = c->first_size = t.size;
  c->room = t.room;
  c->first = malloc(t.size + 1);
  if (!c->first) abort();
  if (t.size) memcpy(c->first, t.bytes, t.size);
  n->image = c;
  return c;
}
static sim_disk *empty(void) {
  sim_disk *d = calloc(1, sizeof *d);
  if (!d) abort();
  d->device = ++devices;
  return d;
}
static void copy_tree(sim_disk *to, node *from, node *into) {
  for (int i = 0; i < from->entry_count; i++) {
    node *child = from->entries[i].node;
    if (child->image) {
      link_name(into, from->entries[i].name, child->image);
      continue;
    }
    text t = {0};
    resize(&t.bytes, &t.size, &t.room, child->size);
    if (child->size) memcpy(t.bytes, child->now, child->size);
    node *made = copy_node(to, child, t);
    link_name(into, from->entries[i].name, made);
    if (child->folder) copy_tree(to, child, made);
  }
}

/// Entries of folders while a power cut's are worked out.
typedef struct { node *folder; entry *entries; int count, room; } table;
static void table_unlink(table *t, const char *name, const node *n) {
  for (int i = 0; i < t->count; i++)
    if (!strcmp(t->entries[i].name, name) && (!n || t->entries[i].node == n)) {
      t->entries[i] = t->entries[--t->count];
      return;
    }
}
static entry *table_find(table *t, const char *name) {
  for (int i = 0; i < t->count; i++)
    if (!strcmp(t->entries[i].name, name)) return &t->entries[i];
  return NULL;
}
static void table_link(table *t, char *name, node *n) {
  table_unlink(t, name, NULL);
  GROW(t->entries, t->count, t->room);
  t->entries[t->count++] = (entry){name, n};
}
typedef struct { table *list; int count, room; } tables;
static table *table_of(tables *all, node *folder) {
  for (int i = 0; i < all->count; i++)
    if (all->list[i].folder == folder) return &all->list[i];
  return NULL;
}
static void cut_tree(sim_disk *to, tables *all, node *from, node *into, int model, int spread, uint64_t *rng, int depth) {
  table *t = table_of(all, from);
  for (int i = 0; t && i < t->count; i++) {
    node *child = t->entries[i].node;
    if (child->image) {
      if (!child->folder) link_name(into, t->entries[i].name, child->image);
      continue;
    }
    node *made = copy_node(to, child, child->folder ? (text){0} : content(child, model, spread, rng));
    link_name(into, t->entries[i].name, made);
    if (child->folder && depth < 8) cut_tree(to, all, child, made, model, spread, rng, depth + 1);
  }
}

/// The names at the disk's beginning: those that no operation has made.
static sim_disk *copy(int model, int spread, uint64_t seed) {
  sim_disk *d = empty();
  for (node *n = disk->nodes; n; n = n->next) n->image = NULL;
  if (model == SIM_KILL || model == SIM_TORN) {
    d->root = copy_node(d, disk->root, (text){0});
    copy_tree(d, disk->root, d->root);
    return d;
  }
  uint64_t rng = seed;
  tables all = {0};
  for (node *n = disk->nodes; n; n = n->next)
    if (n->folder) {
      GROW(all.list, all.count, all.room);
      all.list[all.count++] = (table){.folder = n};
    }
  int loose = 0, kept = 0;
  for (int i = 0; i < disk->names.count; i++) loose += !sure(disk->names.list[i], model);
  int prefix = loose ? (int)(chance(&rng) % (unsigned)(loose + 1)) : 0;
  uint64_t share = (uint64_t[]){2, 5, 8}[chance(&rng) % 3];
  for (int i = 0; i < disk->names.count; i++) {
    op *o = disk->names.list[i];
    if (!sure(o, model)) {
      if (spread == 0) continue;
      bool keep = spread == 1 || (model == SIM_JOURNAL ? kept < prefix : chance(&rng) % 10 < share);
      kept++;
      if (!keep) continue;
    }
    table *p = table_of(&all, o->parent), *q = o->target ? table_of(&all, o->target) : NULL;
    switch (o->kind) {
    case 'C': case 'M': table_link(p, o->name, o->node); break;
    case 'U': case 'D': table_unlink(p, o->name, o->node); break;
    case 'L': table_link(q, o->other, o->node); break;
    case 'X': {
      entry *a = table_find(p, o->name), *b = table_find(q, o->other);
      if (a && b) {
        node *n = a->node;
        a->node = b->node;
        b->node = n;
      }
      break;
    }
    default:
      table_unlink(p, o->name, o->node);
      table_link(q, o->other, o->node);
    }
  }
  d->root = copy_node(d, disk->root, (text){0});
  cut_tree(d, &all, disk->root, d->root, model, spread, &rng, 0);
  for (int i = 0; i < all.count; i++) free(all.list[i].entries);
  free(all.list);
  return d;
}
/// A copy's names were made by operations that are all synced.
static void settle(sim_disk *d, node *folder) {
  sim_disk *mounted = disk;
  disk = d;
  for (int i = 0; i < folder->entry_count; i++) {
    op *o = note(folder->entries[i].node->folder ? 'M' : 'C', folder->entries[i].node, folder, folder->entries[i].name);
    o->posix = o->journal = true;
    if (folder->entries[i].node->folder) settle(d, folder->entries[i].node);
  }
  disk = mounted;
}
sim_disk *sim_copy(int model, int spread, uint64_t seed) {
  sim_disk *d = copy(model, spread, seed);
  settle(d, d->root);
  return d;
}

// MARK: the machine's side

sim_disk *sim_disk_make(void) {
  sim_disk *d = empty();
  d->root = new_node(d, true);
  return d;
}
void sim_disk_free(sim_disk *d) {
  for (node *n = d->nodes, *next; n; n = next) {
    next = n->next;
    for (int i = 0; i < n->entry_count; i++) free(n->entries[i].name);
    free(n->entries);
    free(n->now);
    free(n->first);
    free(n->data.list);
    free(n);
  }
  for (int i = 0; i < d->everything.count; i++) {
    op *o = d->everything.list[i];
    free(o->name);
    free(o->other);
    free(o->data);
    free(o);
  }
  free(d->names.list);
  free(d->everything.list);
  free(d);
}
static void close_all(void) {
  for (int i = 0; i < FILES; i++)
    if (files[i] && --files[i]->uses == 0) {
      free(files[i]);
      files[i] = NULL;
    } else {
      files[i] = NULL;
    }
}
void sim_mount(sim_disk *d) {
  close_all();
  disk = d;
}
int sim_open_files(void) {
  int count = 0;
  for (int i = 0; i < FILES; i++) count += files[i] != NULL;
  return count;
}
void disk_begin(void) {
  disk = NULL;
  calls = trouble = 0;
  least = 5000;
  most = 100000;
  sync_most = 5000000;
  room = -1;
  no_locks = no_flags = no_syncs = false;
  fault.count = stall.count = 0;
  crash_count = image_count = 0;
}
void disk_end(void) { sim_mount(NULL); }
int64_t sim_calls(void) { return calls; }
void sim_fault(int kinds, int error, int count) {
  fault.kinds = kinds;
  fault.error = error;
  fault.count = count;
}
void sim_stall(int kinds, int64_t nanoseconds, int count) {
  stall.kinds = kinds;
  stall.time = nanoseconds;
  stall.count = count;
}
void sim_latency(int64_t a, int64_t b, int64_t sync) {
  least = a;
  most = b;
  sync_most = sync;
}
void sim_room(int64_t bytes) {
  room = bytes;
  if (bytes >= 0 && trouble < sim_now()) trouble = sim_now();
}
void sim_lacks(bool locks, bool flags, bool syncs) {
  no_locks = locks;
  no_flags = flags;
  no_syncs = syncs;
}
int64_t sim_trouble(void) { return trouble; }
void sim_crash(int64_t call, int model, int spread, uint64_t seed) {
  GROW(crashes, crash_count, crash_room);
  crashes[crash_count++] = (struct crash){call, model, spread, seed};
}
int sim_images(void) { return image_count; }
sim_image sim_image_at(int index) { return images[index]; }
static void take_image(struct crash c) {
  GROW(images, image_count, image_room);
  images[image_count++] = (sim_image){sim_copy(c.model, c.spread, c.seed), calls, sim_now(), trouble, c.model};
}

static void walk(node *folder, char *path, size_t length, void *context, void (*each)(void *, const char *, const uint8_t *, int64_t)) {
  for (int i = 0; i < folder->entry_count; i++) {
    node *n = folder->entries[i].node;
    int more = snprintf(path + length, 1024 - length, "/%s", folder->entries[i].name);
    each(context, path, n->now ? n->now : (const uint8_t *)"", n->folder ? -1 : (int64_t)n->size);
    if (n->folder) walk(n, path, length + (size_t)more, context, each);
    path[length] = 0;
  }
}
void sim_walk(sim_disk *d, void *context, void (*each)(void *, const char *, const uint8_t *, int64_t)) {
  char path[1024] = "";
  walk(d->root, path, 0, context, each);
}

// MARK: calls

/// Before a call: a crash, its time, and what is wrong with it. An errno to fail with, or 0; -1 for a write cut short.
static int enter(int kind, size_t size, node *n, const void *bytes, int64_t at) {
  calls++;
  for (int i = 0; i < crash_count; i++)
    if (crashes[i].call == calls) {
      if (crashes[i].model == SIM_TORN && kind == SIM_WRITE && size > 1) {
        // A copy on which part of this write is done.
        uint8_t *before = malloc(n->size + 1);
        size_t old = n->size, count = n->data.count ? (size_t)n->data.count : 0;
        if (!before) abort();
        if (old) memcpy(before, n->now, old);
        op part = {.kind = 'W', .at = at, .data = (uint8_t *)(uintptr_t)bytes, .size = size};
        apply(&n->now, &n->size, &n->room, &part, 1 + (size_t)(crashes[i].seed % (size - 1)));
        take_image(crashes[i]);
        if (old) memcpy(n->now, before, old);
        n->size = old;
        free(before);
        (void)count;
      } else {
        take_image(crashes[i]);
      }
    }
  machine_called(calls);
  if (!machine_in_thread()) return 0;
  int64_t top = kind == SIM_SYNC ? sync_most : kind == SIM_READ ? least + 1 : most;
  int64_t cost = least + (int64_t)(machine_chance() % (uint64_t)(top - least + 1));
  if (stall.count > 0 && stall.kinds & kind) {
    stall.count--;
    cost += stall.time;
    if (trouble < sim_now() + cost) trouble = sim_now() + cost;
  }
  machine_spend(cost);
  if (fault.count > 0 && fault.kinds & kind) {
    fault.count--;
    if (fault.error != 0 && fault.error != EINTR && trouble < sim_now()) trouble = sim_now();
    return fault.error == 0 ? -1 : fault.error;
  }
  return 0;
}
static int fail(int code) {
  errno = code;
  return -1;
}
#define ENTER(kind) \
  do { int code = enter(kind, 0, NULL, NULL, 0); if (code > 0) return fail(code); } while (0)

static bool ours(int fd) { return fd >= FIRST; }
static file *file_of(int fd) { return fd >= FIRST && fd < FIRST + FILES ? files[fd - FIRST] : NULL; }
static bool ours_path(int dir, const char *path) {
  if (!machine_on() || !disk) return false;
  if (path[0] != '/') return ours(dir);
  return !strncmp(path, "/sim", 4) && (path[4] == '/' || path[4] == 0);
}
/// The folder that a path's last name lies in, and that name in `last`, which is empty for the folder itself.
static node *walk_to(int dir, const char *path, char *last) {
  node *at = NULL;
  if (path[0] == '/') {
    at = disk->root;
    path += 4;
  } else {
    file *f = file_of(dir);
    at = f ? f->node : NULL;
  }
  last[0] = 0;
  while (at) {
    while (*path == '/') path++;
    size_t n = strcspn(path, "/");
    if (n == 0) return at;
    if (n > 255) { errno = ENAMETOOLONG; return NULL; }
    if (last[0]) {
      entry *e = find(at, last);
      if (!e) { errno = ENOENT; return NULL; }
      if (!e->node->folder) { errno = ENOTDIR; return NULL; }
      at = e->node;
      last[0] = 0;
    }
    if (!(n == 1 && path[0] == '.')) {
      memcpy(last, path, n);
      last[n] = 0;
    }
    path += n;
  }
  errno = EBADF;
  return NULL;
}
static node *look(int dir, const char *path) {
  char last[256];
  node *at = walk_to(dir, path, last);
  if (!at) return NULL;
  if (!last[0]) return at;
  entry *e = find(at, last);
  if (!e) errno = ENOENT;
  return e ? e->node : NULL;
}
static int64_t free_room(void) {
  if (room < 0) return INT64_MAX / 4;
  int64_t used = 0;
  for (node *n = disk->nodes; n; n = n->next)
    if (!n->folder && (n->links || n->opened)) used += (int64_t)n->size;
  return used < room ? room - used : 0;
}

static int open_at(int dir, const char *path, int flags, unsigned mode) {
  (void)mode;
  ENTER(SIM_OPEN);
  char last[256];
  node *folder = walk_to(dir, path, last);
  if (!folder) return -1;
  node *n = folder;
  if (last[0]) {
    entry *e = find(folder, last);
    n = e ? e->node : NULL;
    if (n && flags & O_CREAT && flags & O_EXCL) return fail(EEXIST);
    if (!n) {
      if (!(flags & O_CREAT)) return fail(ENOENT);
      if (folder->links == 0 && folder != disk->root) return fail(ENOENT);  // a folder that was removed
      n = new_node(disk, false);
      link_name(folder, last, n);
      note('C', n, folder, last);
    }
  }
  if (flags & O_DIRECTORY && !n->folder) return fail(ENOTDIR);
  if (n->folder && (flags & O_ACCMODE) != O_RDONLY) return fail(EISDIR);
  for (int i = 0; i < FILES; i++)
    if (!files[i]) {
      files[i] = calloc(1, sizeof **files);
      *files[i] = (file){n, 1, flags};
      n->opened++;
      return FIRST + i;
    }
  return fail(EMFILE);
}
int openat(int dir, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  unsigned mode = va_arg(list, unsigned);
  va_end(list);
  return ours_path(dir, path) ? open_at(dir, path, flags, mode) : (int)direct(SYS_openat, dir, (long)path, flags, mode, 0, 0);
}
int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  unsigned mode = va_arg(list, unsigned);
  va_end(list);
  return ours_path(AT_FDCWD, path) ? open_at(AT_FDCWD, path, flags, mode)
                                   : (int)direct(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);
}
int close(int fd) {
  if (!ours(fd)) return (int)direct(SYS_close, fd, 0, 0, 0, 0, 0);
  file *f = file_of(fd);
  if (!f) return fail(EBADF);
  files[fd - FIRST] = NULL;
  f->node->opened--;
  if (--f->uses) return 0;
  if (f->node->lock == f) f->node->lock = NULL;
  free(f);
  return 0;
}
int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  long argument = va_arg(list, long);
  va_end(list);
  if (!ours(fd)) return (int)direct(SYS_fcntl, fd, command, argument, 0, 0, 0);
  file *f = file_of(fd);
  if (!f) return fail(EBADF);
  if (command != F_DUPFD_CLOEXEC) return 0;
  for (int i = 0; i < FILES; i++)
    if (!files[i]) {
      files[i] = f;
      f->uses++;
      f->node->opened++;
      return FIRST + i;
    }
  return fail(EMFILE);
}
off_t lseek(int fd, off_t offset, int whence) {
  return ours(fd) ? 0 : (off_t)direct(SYS_lseek, fd, offset, whence, 0, 0, 0);  // nobody moves a position here
}

ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
  if (!ours(fd)) return direct(SYS_pread64, fd, (long)bytes, (long)count, offset, 0, 0);
  file *f = file_of(fd);
  if (!f) return fail(EBADF);
  ENTER(SIM_READ);
  node *n = f->node;
  if (n->folder) return fail(EISDIR);
  if ((size_t)offset >= n->size) return 0;
  size_t got = n->size - (size_t)offset < count ? n->size - (size_t)offset : count;
  memcpy(bytes, n->now + offset, got);
  return (ssize_t)got;
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  if (!ours(fd)) return direct(SYS_pwrite64, fd, (long)bytes, (long)count, offset, 0, 0);
  file *f = file_of(fd);
  if (!f) return fail(EBADF);
  node *n = f->node;
  int code = enter(SIM_WRITE, count, n, bytes, offset);
  if (code > 0) return fail(code);
  if (code < 0 && count > 1) count = 1 + (size_t)(machine_chance() % (count - 1));
  int64_t growth = (int64_t)offset + (int64_t)count - (int64_t)n->size, left = free_room();
  if (growth > left) {
    if ((int64_t)count <= growth - left) {
      if (sim_now() > trouble) trouble = sim_now();
      return fail(ENOSPC);
    }
    count -= (size_t)(growth - left);
  }
  change(n, 'W', offset, bytes, count);
  return (ssize_t)count;
}
int ftruncate(int fd, off_t size) {
  if (!ours(fd)) return (int)direct(SYS_ftruncate, fd, size, 0, 0, 0, 0);
  file *f = file_of(fd);
  if (!f) return fail(EBADF);
  ENTER(SIM_CUT);
  change(f->node, 'T', size, NULL, 0);
  return 0;
}
int posix_fallocate(int fd, off_t offset, off_t size) {
  file *f = file_of(fd);
  if (!f) return EBADF;
  int code = enter(SIM_ALLOCATE, 0, NULL, NULL, 0);
  if (code > 0) return code;
  if (offset + size - (int64_t)f->node->size > free_room()) return ENOSPC;
  change(f->node, 'A', offset + size, NULL, 0);
  return 0;
}
static int sync_file(int fd) {
  file *f = file_of(fd);
  if (!f) return fail(EBADF);
  int64_t began = disk->number;
  ENTER(SIM_SYNC);
  if (no_syncs) return fail(EINVAL);
  synced(f->node, began);
  return 0;
}
int fdatasync(int fd) { return ours(fd) ? sync_file(fd) : (int)direct(SYS_fdatasync, fd, 0, 0, 0, 0, 0); }
int fsync(int fd) { return ours(fd) ? sync_file(fd) : (int)direct(SYS_fsync, fd, 0, 0, 0, 0, 0); }

int mkdirat(int dir, const char *path, mode_t mode) {
  if (!ours_path(dir, path)) return (int)direct(SYS_mkdirat, dir, (long)path, mode, 0, 0, 0);
  ENTER(SIM_FOLDER);
  char last[256];
  node *folder = walk_to(dir, path, last);
  if (!folder) return -1;
  if (!last[0] || find(folder, last)) return fail(EEXIST);
  node *n = new_node(disk, true);
  link_name(folder, last, n);
  note('M', n, folder, last);
  return 0;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
int unlinkat(int dir, const char *path, int flags) {
  if (!ours_path(dir, path)) return (int)direct(SYS_unlinkat, dir, (long)path, flags, 0, 0, 0);
  ENTER(SIM_REMOVE);
  char last[256];
  node *folder = walk_to(dir, path, last);
  if (!folder) return -1;
  entry *e = last[0] ? find(folder, last) : NULL;
  if (!e) return fail(ENOENT);
  node *n = e->node;
  if (flags & AT_REMOVEDIR) {
    if (!n->folder) return fail(ENOTDIR);
    if (n->entry_count) return fail(ENOTEMPTY);
  } else if (n->folder) {
    return fail(EISDIR);
  }
  note(n->folder ? 'D' : 'U', n, folder, last);
  unlink_name(folder, last);
  return 0;
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
  if (!ours_path(a, from)) return (int)direct(SYS_renameat2, a, (long)from, b, (long)to, flags, 0);
  ENTER(SIM_RENAME);
  if (flags && no_flags) return fail(EINVAL);
  char old[256], new[256];
  node *source = walk_to(a, from, old), *target = source ? walk_to(b, to, new) : NULL;
  if (!target) return -1;
  entry *e = old[0] ? find(source, old) : NULL, *there = new[0] ? find(target, new) : NULL;
  if (!e) return fail(ENOENT);
  if (target->links == 0 && target != disk->root) return fail(ENOENT);
  node *n = e->node;
  if (flags == 2) {  // exchange
    if (!there) return fail(ENOENT);
    op *o = note('X', n, source, old);
    o->target = target;
    o->other = strdup(new);
    e->node = there->node;
    there->node = n;
    return 0;
  }
  if (there) {
    if (flags == 1) return fail(EEXIST);
    if (there->node == n) return 0;
    if (there->node->folder && !n->folder) return fail(EISDIR);
    if (!there->node->folder && n->folder) return fail(ENOTDIR);
    if (there->node->folder && there->node->entry_count) return fail(ENOTEMPTY);
    unlink_name(target, new);
  }
  op *o = note('R', n, source, old);
  o->target = target;
  o->other = strdup(new);
  link_name(target, new, n);
  unlink_name(source, old);
  return 0;
}
int renameat(int a, const char *from, int b, const char *to) { return renameat2(a, from, b, to, 0); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
  if (!ours_path(a, from)) return (int)direct(SYS_linkat, a, (long)from, b, (long)to, flags, 0);
  ENTER(SIM_RENAME);
  char old[256], new[256];
  node *source = walk_to(a, from, old), *target = source ? walk_to(b, to, new) : NULL;
  if (!target) return -1;
  entry *e = old[0] ? find(source, old) : NULL;
  if (!e) return fail(ENOENT);
  if (find(target, new)) return fail(EEXIST);
  op *o = note('L', e->node, source, old);
  o->target = target;
  o->other = strdup(new);
  link_name(target, new, o->node);
  return 0;
}

int flock(int fd, int how) {
  if (!ours(fd)) return (int)direct(SYS_flock, fd, how, 0, 0, 0, 0);
  file *f = file_of(fd);
  if (!f) return fail(EBADF);
  ENTER(SIM_LOCK);
  if (no_locks) return fail(ENOLCK);
  if (f->node->lock && f->node->lock != f) return fail(EWOULDBLOCK);
  f->node->lock = f;
  return 0;
}

static void facts(const node *n, struct stat *s) {
  memset(s, 0, sizeof *s);
  s->st_mode = n->folder ? S_IFDIR | 0700 : S_IFREG | 0600;
  s->st_dev = disk->device;
  s->st_ino = n->inode;
  s->st_size = (off_t)n->size;
  s->st_nlink = n == disk->root ? 2 : (nlink_t)n->links + (n->folder && n->links ? 1 : 0);
  s->st_mtim.tv_sec = s->st_ctim.tv_sec = n->modified / 1000000000;
  s->st_mtim.tv_nsec = s->st_ctim.tv_nsec = n->modified % 1000000000;
}
int fstat(int fd, struct stat *s) {
  if (!ours(fd)) return ((__typeof__(&fstat))real("fstat"))(fd, s);
  file *f = file_of(fd);
  if (!f) return fail(EBADF);
  facts(f->node, s);
  return 0;
}
int fstatat(int dir, const char *path, struct stat *s, int flags) {
  if (!ours_path(dir, path)) return ((__typeof__(&fstatat))real("fstatat"))(dir, path, s, flags);
  node *n = look(dir, path);
  if (!n) return -1;
  facts(n, s);
  return 0;
}
int stat(const char *path, struct stat *s) {
  if (!ours_path(AT_FDCWD, path)) return ((__typeof__(&stat))real("stat"))(path, s);
  return fstatat(AT_FDCWD, path, s, 0);
}
int access(const char *path, int how) {
  if (!ours_path(AT_FDCWD, path)) return (int)direct(SYS_faccessat, AT_FDCWD, (long)path, how, 0, 0, 0);
  return look(AT_FDCWD, path) ? 0 : -1;
}
int faccessat(int dir, const char *path, int how, int flags) {
  if (!ours_path(dir, path)) return ((__typeof__(&faccessat))real("faccessat"))(dir, path, how, flags);
  return look(dir, path) ? 0 : -1;
}
int fchmod(int fd, mode_t mode) { return ours(fd) ? 0 : (int)direct(SYS_fchmod, fd, mode, 0, 0, 0, 0); }
int fchmodat(int dir, const char *path, mode_t mode, int flags) {
  (void)flags;
  return ours_path(dir, path) ? 0 : (int)direct(SYS_fchmodat, dir, (long)path, mode, 0, 0, 0);
}
int chmod(const char *path, mode_t mode) { return fchmodat(AT_FDCWD, path, mode, 0); }
int futimens(int fd, const struct timespec times[2]) {
  if (!ours(fd)) return ((__typeof__(&futimens))real("futimens"))(fd, times);
  file *f = file_of(fd);
  if (!f) return fail(EBADF);
  f->node->modified = machine_wall();
  return 0;
}
int fstatvfs(int fd, struct statvfs *s) {
  if (!ours(fd)) return ((__typeof__(&fstatvfs))real("fstatvfs"))(fd, s);
  memset(s, 0, sizeof *s);
  s->f_frsize = s->f_bsize = 1;
  s->f_bavail = s->f_bfree = (fsblkcnt_t)free_room();
  return 0;
}
int fstatfs(int fd, struct statfs *s) {
  if (!ours(fd)) return ((__typeof__(&fstatfs))real("fstatfs"))(fd, s);
  memset(s, 0, sizeof *s);
  s->f_type = 0xEF53;
  return 0;
}
static bool path_of(node *at, const node *wanted, char *path, size_t length) {
  if (at == wanted) return true;
  for (int i = 0; i < at->entry_count; i++) {
    if (!at->entries[i].node->folder) continue;
    int more = snprintf(path + length, 1024 - length, "/%s", at->entries[i].name);
    if (path_of(at->entries[i].node, wanted, path, length + (size_t)more)) return true;
    path[length] = 0;
  }
  return false;
}
ssize_t readlink(const char *path, char *bytes, size_t count) {
  int fd = 0;
  if (!machine_on() || sscanf(path, "/proc/self/fd/%d", &fd) != 1 || !ours(fd))
    return direct(SYS_readlinkat, AT_FDCWD, (long)path, (long)bytes, (long)count, 0, 0);
  file *f = file_of(fd);
  char found[1024] = "/sim";
  if (!f || !path_of(disk->root, f->node, found, 4)) return fail(ENOENT);
  size_t n = strlen(found) < count ? strlen(found) : count;
  memcpy(bytes, found, n);
  return (ssize_t)n;
}

typedef struct { int fd, next; struct dirent entry; } folder_stream;
static folder_stream *streams[16];
static int stream_of(void *s) {
  for (int i = 0; i < 16; i++)
    if (s && streams[i] == s) return i;
  return -1;
}
DIR *fdopendir(int fd) {
  if (!ours(fd)) return ((__typeof__(&fdopendir))real("fdopendir"))(fd);
  for (int i = 0; i < 16; i++)
    if (!streams[i]) {
      streams[i] = calloc(1, sizeof **streams);
      streams[i]->fd = fd;
      return (DIR *)streams[i];
    }
  errno = EMFILE;
  return NULL;
}
struct dirent *readdir(DIR *s) {
  int i = stream_of(s);
  if (i < 0) return ((__typeof__(&readdir))real("readdir"))(s);
  file *f = file_of(streams[i]->fd);
  if (!f || streams[i]->next >= f->node->entry_count) return NULL;
  entry *e = &f->node->entries[streams[i]->next++];
  streams[i]->entry.d_ino = e->node->inode;
  snprintf(streams[i]->entry.d_name, sizeof streams[i]->entry.d_name, "%s", e->name);
  return &streams[i]->entry;
}
int closedir(DIR *s) {
  int i = stream_of(s);
  if (i < 0) return ((__typeof__(&closedir))real("closedir"))(s);
  close(streams[i]->fd);
  free(streams[i]);
  streams[i] = NULL;
  return 0;
}

void sim_put(sim_disk *d, const char *path, const uint8_t *bytes, size_t size) {
  sim_disk *mounted = disk;
  disk = d;
  char last[256];
  node *folder = walk_to(AT_FDCWD, path, last);
  if (folder && last[0]) {
    entry *e = find(folder, last);
    node *n = e ? e->node : new_node(d, false);
    if (!e) {
      link_name(folder, last, n);
      note('C', n, folder, last);
    }
    change(n, 'T', 0, NULL, 0);
    change(n, 'W', 0, bytes, size);
    synced(n, d->number);
    synced(folder, d->number);
  }
  disk = mounted;
}

// MARK: the real ones

void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}
long direct(long number, long a, long b, long c, long d, long e, long f) {
  static long (*call)(long, ...);
  if (!call) call = (long (*)(long, ...))real("syscall");
  return call(number, a, b, c, d, e, f);
}
