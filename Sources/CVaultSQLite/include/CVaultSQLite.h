// The system's SQLite, the guarding VFS, and the few calls that Swift cannot make (variadic functions and macros).
#pragma once
#include <sqlite3.h>
#include <stdint.h>

/// Chooses settings of SQLite for the whole process, before its first use, that suit a process which runs one command.
void csqlite_serve_one_command(void);

/// Opens `path` through the guarding VFS, registered on the first call, and applies the fixed settings of a connection
/// before any statement runs. `path` is absolute and free of links. On failure `*db` is NULL and `*system_errno` is
/// set.
int csqlite_open(const char *path, int flags, sqlite3 **db, int *system_errno);

/// Sets whether -wal and -shm are kept, unmerged, when the connection closes. On for every group file, off while one is
/// being created.
int csqlite_keep_log(sqlite3 *db, int keep);

/// Gives `db`, a connection that reads alone and has begun no transaction, a copy of the log's shared index: `count` bytes,
/// whole pages of it. Without one, it makes an index from the log.
int csqlite_take_index(sqlite3 *db, const void *bytes, int count);

/// Reads bytes of the main file through SQLite's own descriptor. If the file is too short, the rest is zeros and the
/// result SQLITE_IOERR_SHORT_READ.
int csqlite_read(sqlite3 *db, void *bytes, int count, long long offset);

/// The size of the main file, read through SQLite's own descriptor.
int csqlite_size(sqlite3 *db, long long *count);

/// The offset of the next data in the main file at or after `offset`, holes skipped. It is `offset` itself if that cannot
/// be told, and -1 if only a hole follows.
long long csqlite_next_data(sqlite3 *db, long long offset);

/// 1 if the log that `db` has open is the one at its path and has no other name, otherwise 0.
int csqlite_log_has_one_name(sqlite3 *db);

/// Says that a transaction of `db` begins: what it has written to the log before belongs to others, or to nobody.
void csqlite_begin(sqlite3 *db);

/// Waits until the log that `db` has open is on the disk, before its transaction has written anything.
int csqlite_sync_log(sqlite3 *db);

/// The header of the log's index (https://www.sqlite.org/walformat.html, section 2.1). Each commit changes it.
struct csqlite_index_header {
  uint64_t words[6];
};

/// Copies the header from memory that all processes share, without a lock or a system call. The connection must have
/// begun a transaction before. Fails with SQLITE_BUSY if another process is just changing the header.
int csqlite_index_header(sqlite3 *db, struct csqlite_index_header *header);

/// The work budget and the commits of a connection.
struct csqlite_watch {
  /// The work that a single call of `sqlite3_step` may still do, in instructions of SQLite's virtual machine.
  long long budget;
  /// The number of commits of this connection, and the number of pages in the log after the last one.
  int commits, log_pages;
};

/// Interrupts the running statement of `db` when the budget is used up, and counts commits. `watch` must outlive the
/// connection.
void csqlite_watch(sqlite3 *db, struct csqlite_watch *watch);

/// Binds a copy of `count` bytes, or lent bytes without a copy, which must not change or go before the binding. A count of
/// zero binds an empty blob, never NULL.
int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count, int is_lent);

/// The number of forks that led to this process. It is constant for the life of the process.
int csqlite_fork_generation(void);
