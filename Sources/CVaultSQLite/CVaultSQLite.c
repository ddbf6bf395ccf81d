#define _GNU_SOURCE
#include "CVaultSQLite.h"
#include "GuardingVFS.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if SQLITE_VERSION_NUMBER < 3037000
#error "SQLite 3.37 or newer is needed: the format's tables are STRICT"
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int registered = SQLITE_ERROR;
static volatile int fork_generation;

static void count_fork(void) { fork_generation++; }

static void prepare(void) {
  pthread_atfork(NULL, NULL, count_fork);
  // An SQLite built for a single thread has no mutexes at all.
  registered = sqlite3_threadsafe() ? guarding_vfs_register() : SQLITE_MISUSE;
}

void csqlite_serve_one_command(void) {
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
}

int csqlite_fork_generation(void) {
  pthread_once(&once, prepare);
  return fork_generation;
}

static const struct { int option, value; } options[] = {
  {SQLITE_DBCONFIG_DEFENSIVE, 1},           {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
  {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},      {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
  {SQLITE_DBCONFIG_DQS_DML, 0},             {SQLITE_DBCONFIG_DQS_DDL, 0},
  {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},     {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
  {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
};

// A file's schema is parsed before it can be checked, so these limits bound the cost of parsing it.
static const struct { int limit, value; } limits[] = {
  {SQLITE_LIMIT_LENGTH, 2 << 20},    {SQLITE_LIMIT_SQL_LENGTH, 4096},  {SQLITE_LIMIT_COLUMN, 16},
  {SQLITE_LIMIT_EXPR_DEPTH, 16},     {SQLITE_LIMIT_COMPOUND_SELECT, 2}, {SQLITE_LIMIT_VDBE_OP, 25000},
  {SQLITE_LIMIT_FUNCTION_ARG, 8},    {SQLITE_LIMIT_ATTACHED, 0},       {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
  {SQLITE_LIMIT_VARIABLE_NUMBER, 64}, {SQLITE_LIMIT_TRIGGER_DEPTH, 0},  {SQLITE_LIMIT_WORKER_THREADS, 0},
};

static int settle(sqlite3 *db) {
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    int now = -1;
    int code = sqlite3_db_config(db, options[i].option, options[i].value, &now);
    if (code != SQLITE_OK) return code;
    if (now != options[i].value) return SQLITE_MISUSE;
  }
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) sqlite3_limit(db, limits[i].limit, limits[i].value);
  sqlite3_wal_autocheckpoint(db, 0);
  sqlite3_int64 mapped = 0;
  return sqlite3_file_control(db, NULL, SQLITE_FCNTL_MMAP_SIZE, &mapped);
}

static void drop_unwritten(void *db) { csqlite_begin(db); }

int csqlite_open(const char *path, int flags, sqlite3 **db, int *system_errno) {
  pthread_once(&once, prepare);
  *db = NULL;
  *system_errno = 0;
  if (registered != SQLITE_OK) return registered;
  int code = sqlite3_open_v2(path, db, flags, GUARDING_VFS_NAME);
  if (code == SQLITE_OK) {
    sqlite3_extended_result_codes(*db, 1);
    sqlite3_rollback_hook(*db, drop_unwritten, *db);
    code = settle(*db);
    if (code == SQLITE_OK) code = csqlite_keep_log(*db, 1);
  }
  if (code != SQLITE_OK && *db) {
    code = code == (sqlite3_extended_errcode(*db) & 0xff) ? sqlite3_extended_errcode(*db) : code;
    *system_errno = sqlite3_system_errno(*db);
    sqlite3_close(*db);
    *db = NULL;
  }
  return code;
}

int csqlite_keep_log(sqlite3 *db, int keep) {
  int now = keep;
  int code = sqlite3_file_control(db, NULL, SQLITE_FCNTL_PERSIST_WAL, &now);
  if (code != SQLITE_OK) return code;
  return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep, &now);
}

static int main_file(sqlite3 *db, sqlite3_file **file) {
  *file = NULL;
  int code = sqlite3_file_control(db, NULL, SQLITE_FCNTL_FILE_POINTER, file);
  if (code != SQLITE_OK) return code;
  return *file && (*file)->pMethods ? SQLITE_OK : SQLITE_CANTOPEN;
}

int csqlite_read(sqlite3 *db, void *bytes, int count, long long offset) {
  sqlite3_file *file;
  int code = main_file(db, &file);
  return code == SQLITE_OK ? file->pMethods->xRead(file, bytes, count, offset) : code;
}

int csqlite_size(sqlite3 *db, long long *count) {
  sqlite3_file *file;
  sqlite3_int64 size = 0;
  int code = main_file(db, &file);
  if (code == SQLITE_OK) code = file->pMethods->xFileSize(file, &size);
  *count = size;
  return code;
}

long long csqlite_next_data(sqlite3 *db, long long offset) {
  sqlite3_file *file;
  if (main_file(db, &file) != SQLITE_OK) return offset;
  int descriptor = guarding_vfs_descriptor(file);
  if (descriptor < 0) return offset;
  off_t next = lseek(descriptor, offset, SEEK_DATA);
  if (next >= 0) return next;
  return errno == ENXIO ? -1 : offset;
}

// The log that `db` has open; NULL if none.
static sqlite3_file *open_log(sqlite3 *db) {
  sqlite3_file *log = NULL;
  int code = sqlite3_file_control(db, NULL, SQLITE_FCNTL_JOURNAL_POINTER, &log);
  return code == SQLITE_OK && log && log->pMethods ? log : NULL;
}

int csqlite_log_has_one_name(sqlite3 *db) {
  sqlite3_file *log = open_log(db);
  struct stat opened, named;
  const char *path = sqlite3_db_filename(db, "main");
  if (!path || !log) return 0;
  return fstat(guarding_vfs_descriptor(log), &opened) == 0 && lstat(sqlite3_filename_wal(path), &named) == 0 &&
    opened.st_nlink == 1 && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void csqlite_begin(sqlite3 *db) {
  sqlite3_file *log = open_log(db);
  if (log) guarding_vfs_begin(log);
}

int csqlite_sync_log(sqlite3 *db) {
  sqlite3_file *log = open_log(db);
  if (!log) return SQLITE_OK;
  guarding_vfs_begin(log);
  return log->pMethods->xSync(log, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
}

int csqlite_index_header(sqlite3 *db, struct csqlite_index_header *header) {
  enum { block_size = 32768 };
  sqlite3_file *file;
  void volatile *index = NULL;
  int code = main_file(db, &file);
  if (code != SQLITE_OK) return code;
  if (file->pMethods->iVersion < 2 || !file->pMethods->xShmMap) return SQLITE_CANTOPEN;
  code = file->pMethods->xShmMap(file, 0, block_size, 0, &index);
  if (code != SQLITE_OK) return code;
  if (!index) return SQLITE_CANTOPEN;
  // A writer changes the second copy first. Two equal copies, read in the other order, are whole.
  struct csqlite_index_header second;
  memcpy(header, (const void *)index, sizeof *header);
  file->pMethods->xShmBarrier(file);
  memcpy(&second, (const char *)index + sizeof *header, sizeof second);
  return memcmp(header, &second, sizeof second) == 0 ? SQLITE_OK : SQLITE_BUSY;
}

enum { budget_unit = 1000 };

static int spend(void *context) {
  struct csqlite_watch *watch = context;
  watch->budget -= budget_unit;
  return watch->budget < 0;
}

static int note_commit(void *context, sqlite3 *db, const char *name, int pages) {
  (void)db, (void)name;
  struct csqlite_watch *watch = context;
  watch->commits++;
  watch->log_pages = pages;
  return SQLITE_OK;
}

void csqlite_watch(sqlite3 *db, struct csqlite_watch *watch) {
  sqlite3_progress_handler(db, budget_unit, spend, watch);
  sqlite3_wal_hook(db, note_commit, watch);
}

int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count, int is_lent) {
  return sqlite3_bind_blob(statement, index, count == 0 ? "" : bytes, count, is_lent ? SQLITE_STATIC : SQLITE_TRANSIENT);
}
