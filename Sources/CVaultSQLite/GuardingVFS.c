#define _GNU_SOURCE
#include "GuardingVFS.h"

#include "CVaultSQLite.h"
#include "CVaultSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The size of a log's index, for up to 4,062 pages in the log.
enum { index_size = 32768 };

// A file that is being created has this ending. Only the log of such a file may be deleted.
static const char unplaced_log[] = ".new-wal";

static int ends_with(const char *name, const char *ending) {
  size_t length = strlen(name), tail = strlen(ending);
  return length >= tail && memcmp(name + length - tail, ending, tail) == 0;
}

static sqlite3_vfs *base(sqlite3_vfs *vfs) { return vfs->pAppData; }

// Opening a FIFO would hang, and a link leads elsewhere. If lstat fails, the open that follows reports why.
static int is_foreign(const char *name) {
  struct stat status;
  return lstat(name, &status) == 0 && !S_ISREG(status.st_mode);
}

// The descriptor from this thread's last call of open; -1 after a failed call.
static _Thread_local int last_opened = -1;

// Whether this thread opens a file whose bytes alone are wanted.
static _Thread_local int opens_raw;
// Why this thread's last call of open could not make a file; 0 if it could, or need not.
static _Thread_local int not_made;

// After a path was checked and before it is opened, somebody may put a FIFO there, and opening that would block. This
// replaces open in SQLite's whole VFS; no other user of the VFS has a reason to open a FIFO.
static int open_at_once(const char *name, int flags, int mode) {
  struct stat status;
  last_opened = open(name, flags | O_NONBLOCK, mode);
  if (last_opened < 0 && errno == EWOULDBLOCK && opens_raw) last_opened = csystem_open_leased(name);
  // SQLite then tries to open the file without making it, and would say that it is missing.
  if (last_opened < 0 && errno == ENOENT && not_made) errno = not_made;
  not_made = last_opened < 0 && flags & O_CREAT && (errno == ENOSPC || errno == EDQUOT) ? errno : 0;
  if (last_opened >= 0 && fstat(last_opened, &status) == 0 && S_ISFIFO(status.st_mode)) {
    close(last_opened);
    last_opened = -1;
    errno = ENXIO;
  }
  return last_opened;
}

// A process that opens the index of a log alone must not trust what is in it, so SQLite cuts it to 3 bytes and then
// makes each page anew. Zeros over the whole index are the same for a fifth of the time. The whole process cuts files
// with this function: one of a database of the program's own that SQLite cuts to 3 bytes, a journal or a log, holds
// nothing with zeros in it either.
static int cut_or_clear(int descriptor, off_t size) {
  static const char zeros[index_size];
  struct stat status;
  if (size == 3 && fstat(descriptor, &status) == 0 && status.st_size == index_size &&
      pwrite(descriptor, zeros, index_size, 0) == index_size)
    return 0;
  return ftruncate(descriptor, size);
}

static int is_foreign_index(const char *name) {
  char index[1024];
  size_t length = strlen(name);
  if (length + sizeof "-shm" > sizeof index) return 1;
  memcpy(index, name, length);
  memcpy(index + length, "-shm", sizeof "-shm");
  return is_foreign(index);
}

// The system VFS's methods for a log, and a copy that differs in the file size and in writing.
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static const sqlite3_io_methods *base_log_methods;
static sqlite3_io_methods log_methods;
static int base_file_size;

enum { log_header_size = 32, frame_header_size = 24, page_size = 4096, pending_size = 16 * (frame_header_size + page_size) };

// Frames that SQLite appended to a log with two calls each, and that are written with one call. They belong to one
// incomplete transaction, so nobody else may read them yet. Before this connection reads, syncs or truncates the log,
// it writes them. They end with a transaction that is rolled back, because others may write in their place.
struct pending {
  char *bytes;
  int count;
  int commits; // whether the frame being written ends a transaction
  int failure; // what kept frames from being written: the transaction that lacks them must not be committed
  sqlite3_int64 offset, end;
};

// The memory in which a connection alone keeps the index of a log.
struct private_index {
  char **pages;
  int count;
};

// This follows the data that SQLite's VFS keeps for a file.
struct own {
  int descriptor;
  // Where this connection's present transaction began to write to the log; -1 if it has written nothing since a sync.
  sqlite3_int64 unsynced;
  struct pending pending;
  struct private_index index;
};

static struct own *own(sqlite3_file *file) { return (struct own *)((char *)file + base_file_size); }

static int write_pending(sqlite3_file *file) {
  struct pending *pending = &own(file)->pending;
  int count = pending->count;
  if (pending->failure || count == 0) return pending->failure;
  pending->count = 0;
  int code = pending->failure = base_log_methods->xWrite(file, pending->bytes, count, pending->offset);
  if (code != SQLITE_OK) pending->end = -1;
  return code;
}

static int write_log(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  struct pending *pending = &own(file)->pending;
  const unsigned char *header = bytes;
  if (count == frame_header_size) pending->commits = header[4] || header[5] || header[6] || header[7];
  int ends_transaction = count == page_size && pending->commits;
  int continues = offset == pending->end;
  if (pending->failure || !continues || pending->count + count > pending_size) {
    int code = write_pending(file);
    if (code != SQLITE_OK) return code;
  }
  if (!pending->bytes) pending->bytes = sqlite3_malloc(pending_size);
  pending->end = offset + count;
  if (own(file)->unsynced < 0 || offset < own(file)->unsynced) own(file)->unsynced = offset;
  if (!continues || !pending->bytes) return base_log_methods->xWrite(file, bytes, count, offset);
  if (pending->count == 0) pending->offset = offset;
  memcpy(pending->bytes + pending->count, bytes, count);
  pending->count += count;
  return ends_transaction ? write_pending(file) : SQLITE_OK;
}

static int read_log(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
  int code = write_pending(file);
  return code == SQLITE_OK ? base_log_methods->xRead(file, bytes, count, offset) : code;
}

// After an error the system takes the pages for clean, and the next sync succeeds without them. They must not be read
// back as a commit on which others build, so what this transaction has written is cut off.
static int sync_log(sqlite3_file *file, int flags) {
  int code = write_pending(file);
  if (code == SQLITE_OK) code = base_log_methods->xSync(file, flags);
  if (code != SQLITE_OK && own(file)->unsynced >= 0) {
    own(file)->pending.end = -1;
    base_log_methods->xTruncate(file, own(file)->unsynced);
  }
  own(file)->unsynced = -1;
  return code;
}

static int cut_log(sqlite3_file *file, sqlite3_int64 size) {
  int code = write_pending(file);
  return code == SQLITE_OK ? base_log_methods->xTruncate(file, size) : code;
}

static int close_log(sqlite3_file *file) {
  // The rest belongs to an incomplete transaction.
  sqlite3_free(own(file)->pending.bytes);
  own(file)->pending = (struct pending){0};
  return base_log_methods->xClose(file);
}

// A log with only a header, which a killed writer may leave, is as good as empty. SQLite recognizes that if it may
// write the index. If it may only read the index, it tries for ten seconds to reconcile the header with the empty
// index.
static int log_size(sqlite3_file *file, sqlite3_int64 *size) {
  int code = write_pending(file);
  if (code == SQLITE_OK) code = base_log_methods->xFileSize(file, size);
  if (code == SQLITE_OK && *size == log_header_size) *size = 0;
  return code;
}

static void watch_log(sqlite3_file *file) {
  pthread_mutex_lock(&log_mutex);
  if (!base_log_methods) {
    base_log_methods = file->pMethods;
    log_methods = *base_log_methods;
    log_methods.xFileSize = log_size;
    log_methods.xWrite = write_log;
    log_methods.xRead = read_log;
    log_methods.xSync = sync_log;
    log_methods.xTruncate = cut_log;
    log_methods.xClose = close_log;
  }
  if (file->pMethods == base_log_methods) {
    own(file)->pending.end = own(file)->unsynced = -1;
    file->pMethods = &log_methods;
  }
  pthread_mutex_unlock(&log_mutex);
}

// The system VFS's methods for a main file, a copy for one that is only read, and a copy for a connection that shares
// neither locks nor index with others.
static const sqlite3_io_methods *base_main_methods;
static sqlite3_io_methods reading_methods, alone_methods;

// Whether the header of an index is missing or has not two equal copies with the right checksum.
static int is_torn(sqlite3_file *file, void volatile *index) {
  if (!index) return 1;
  uint32_t header[12], copy[12], sums[2] = {0, 0};
  memcpy(header, (const void *)index, sizeof header);
  base_main_methods->xShmBarrier(file);
  memcpy(copy, (const char *)index + sizeof header, sizeof copy);
  for (int word = 0; word < 10; word += 2) {
    sums[0] += header[word] + sums[1];
    sums[1] += header[word + 1] + sums[0];
  }
  int is_made = ((const char *)header)[12];
  return !is_made || memcmp(header, copy, sizeof copy) != 0 || memcmp(header + 10, sums, sizeof sums) != 0;
}

// A writer who was killed while making the index or changing its header leaves it torn until the next writer makes it
// anew, and SQLite fails for those who may only read it. Told that nobody who may write has the files open, it makes an
// index of its own from the log.
static int map_index(sqlite3_file *file, int number, int size, int extends, void volatile **page) {
  int code = base_main_methods->xShmMap(file, number, size, extends, page);
  if (code != SQLITE_READONLY || number != 0 || !is_torn(file, *page)) return code;
  // If a writer has its lock, the header is being changed.
  if (base_main_methods->xShmLock(file, 0, 1, SQLITE_SHM_LOCK | SQLITE_SHM_SHARED) != SQLITE_OK) return code;
  code = base_main_methods->xShmMap(file, number, size, extends, page);
  if (code == SQLITE_READONLY && is_torn(file, *page)) {
    *page = NULL;
    code = SQLITE_READONLY_CANTINIT;
  }
  base_main_methods->xShmLock(file, 0, 1, SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED);
  return code;
}

static int map_private_index(sqlite3_file *file, int number, int size, int extends, void volatile **page) {
  struct private_index *index = &own(file)->index;
  *page = NULL;
  while (extends && index->count <= number) {
    char **pages = sqlite3_realloc(index->pages, (index->count + 1) * (int)sizeof *pages);
    if (!pages) return SQLITE_NOMEM;
    index->pages = pages;
    char *memory = sqlite3_malloc(size);
    if (!memory) return SQLITE_NOMEM;
    memset(memory, 0, size);
    pages[index->count++] = memory;
  }
  if (number < index->count) *page = index->pages[number];
  return SQLITE_OK;
}

static int free_private_index(sqlite3_file *file, int deletes) {
  (void)deletes;
  struct private_index *index = &own(file)->index;
  while (index->count > 0) sqlite3_free(index->pages[--index->count]);
  sqlite3_free(index->pages);
  index->pages = NULL;
  return SQLITE_OK;
}

static int close_alone(sqlite3_file *file) {
  free_private_index(file, 0);
  return base_main_methods->xClose(file);
}

static int lock_nothing(sqlite3_file *file, int level) {
  (void)file, (void)level;
  return SQLITE_OK;
}

static int lock_no_index(sqlite3_file *file, int offset, int count, int flags) {
  (void)file, (void)offset, (void)count, (void)flags;
  return SQLITE_OK;
}

// Others who may write the index could cut it short while it is mapped, which ends the process, or keep its locks. This
// connection has an index of its own, a copy of the shared one, or made from the log. Whoever writes meanwhile may mix
// states, so what it reads must be proved.
static int read_main(sqlite3_file *file, int is_alone) {
  pthread_mutex_lock(&log_mutex);
  if (!base_main_methods) {
    base_main_methods = file->pMethods;
    reading_methods = *base_main_methods;
    reading_methods.xShmMap = map_index;
    alone_methods = *base_main_methods;
    alone_methods.xClose = close_alone;
    alone_methods.xLock = lock_nothing;
    alone_methods.xUnlock = lock_nothing;
    alone_methods.xShmMap = map_private_index;
    alone_methods.xShmLock = lock_no_index;
    alone_methods.xShmUnmap = free_private_index;
  }
  int is_known = file->pMethods == base_main_methods;
  if (is_known) file->pMethods = is_alone ? &alone_methods : &reading_methods;
  pthread_mutex_unlock(&log_mutex);
  return is_known;
}

int csqlite_take_index(sqlite3 *db, const void *bytes, int count) {
  sqlite3_file *file = NULL;
  int status = sqlite3_file_control(db, NULL, SQLITE_FCNTL_FILE_POINTER, &file);
  if (status != SQLITE_OK || !file || file->pMethods != &alone_methods) return SQLITE_MISUSE;
  for (int number = 0; number < count / index_size; number++) {
    void volatile *page;
    int code = map_private_index(file, number, index_size, 1, &page);
    if (code != SQLITE_OK) return code;
    memcpy((void *)page, (const char *)bytes + (size_t)number * index_size, index_size);
  }
  return SQLITE_OK;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *outcome) {
  file->pMethods = NULL;
  memset(own(file), 0, sizeof(struct own));
  own(file)->descriptor = -1;
  int is_raw = flags & SQLITE_OPEN_MAIN_DB && sqlite3_uri_boolean(name, "raw", 0);
  int is_alone = flags & SQLITE_OPEN_MAIN_DB && sqlite3_uri_boolean(name, "alone", 0);
  if (name == NULL) return SQLITE_CANTOPEN;
  if (flags & SQLITE_OPEN_MAIN_DB) {
    // The main file always exists. SQLite never creates it, but initialises an empty file that was created before.
    if (flags & SQLITE_OPEN_CREATE) return SQLITE_CANTOPEN;
    if (is_foreign(name) || (!is_raw && !is_alone && is_foreign_index(name))) return SQLITE_NOTADB;
    if (is_alone && !(flags & SQLITE_OPEN_READONLY)) return SQLITE_CANTOPEN;
  } else if (flags & SQLITE_OPEN_WAL) {
    if (!ends_with(name, "-wal")) return SQLITE_CANTOPEN;
    if (is_foreign(name)) return SQLITE_NOTADB;
  } else {
    // A rollback or super journal names files to delete, and temporary files would leave rows on the disk.
    return SQLITE_CANTOPEN;
  }
  last_opened = -1;
  opens_raw = is_raw;
  int code = base(vfs)->xOpen(base(vfs), name, file, flags, outcome);
  opens_raw = 0;
  // It stays -1 where SQLite had an unused descriptor of the file.
  if (code == SQLITE_OK) own(file)->descriptor = last_opened;
  if (code == SQLITE_OK && flags & SQLITE_OPEN_WAL) watch_log(file);
  int is_read = flags & SQLITE_OPEN_MAIN_DB && flags & SQLITE_OPEN_READONLY;
  if (code == SQLITE_OK && is_read && !read_main(file, is_alone) && is_alone) {
    file->pMethods->xClose(file);
    file->pMethods = NULL;
    code = SQLITE_CANTOPEN;
  }
  return code;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync_folder) {
  if (!ends_with(name, unplaced_log)) return SQLITE_IOERR_DELETE;
  return base(vfs)->xDelete(base(vfs), name, sync_folder);
}

static int file_exists(sqlite3_vfs *vfs, const char *name, int what, int *answer) {
  *answer = 0;
  if (!ends_with(name, "-wal")) return SQLITE_OK;
  if (is_foreign(name)) return SQLITE_NOTADB;
  return base(vfs)->xAccess(base(vfs), name, what, answer);
}

// Paths are already resolved. SQLite's own function would check each of their folders again.
static int full_path(sqlite3_vfs *vfs, const char *name, int capacity, char *full) {
  size_t length = strlen(name);
  if (name[0] != '/' || length >= (size_t)capacity || length >= (size_t)base(vfs)->mxPathname) return SQLITE_CANTOPEN;
  memcpy(full, name, length + 1);
  return SQLITE_OK;
}

// SQLite looks for symbols only in what was loaded, and unloads nothing else.
static void *load_nothing(sqlite3_vfs *vfs, const char *name) {
  (void)vfs, (void)name;
  return NULL;
}

static void explain_nothing(sqlite3_vfs *vfs, int capacity, char *message) {
  (void)vfs;
  if (capacity > 0) message[0] = 0;
}

static sqlite3_vfs guarding_vfs;

void guarding_vfs_begin(sqlite3_file *log) {
  if (log->pMethods != &log_methods) return;
  own(log)->unsynced = own(log)->pending.end = -1;
  own(log)->pending.count = own(log)->pending.failure = 0;
}

int guarding_vfs_descriptor(sqlite3_file *file) { return own(file)->descriptor; }

int guarding_vfs_register(void) {
  // Looked up by name, because a program that uses the library may have registered another default.
  sqlite3_vfs *unix_vfs = sqlite3_vfs_find("unix");
  if (!unix_vfs || unix_vfs->iVersion < 3) return SQLITE_ERROR;
  int code = unix_vfs->xSetSystemCall(unix_vfs, "open", (sqlite3_syscall_ptr)open_at_once);
  if (code == SQLITE_OK) code = unix_vfs->xSetSystemCall(unix_vfs, "ftruncate", (sqlite3_syscall_ptr)cut_or_clear);
  if (code != SQLITE_OK) return code;
  base_file_size = (unix_vfs->szOsFile + 7) & ~7;
  // Clock, sleep and random numbers stay SQLite's own, which do not use their VFS.
  guarding_vfs = *unix_vfs;
  guarding_vfs.iVersion = 2;
  guarding_vfs.zName = GUARDING_VFS_NAME;
  guarding_vfs.szOsFile = base_file_size + (int)sizeof(struct own);
  guarding_vfs.pAppData = unix_vfs;
  guarding_vfs.xOpen = open_file;
  guarding_vfs.xDelete = delete_file;
  guarding_vfs.xAccess = file_exists;
  guarding_vfs.xFullPathname = full_path;
  guarding_vfs.xDlOpen = load_nothing;
  guarding_vfs.xDlError = explain_nothing;
  guarding_vfs.xDlSym = NULL;
  guarding_vfs.xDlClose = NULL;
  return sqlite3_vfs_register(&guarding_vfs, 0);
}
