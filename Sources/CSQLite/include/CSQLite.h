// The system's SQLite, the guarding VFS, and the few calls that Swift cannot make (variadic, or behind a macro).
#pragma once
#include <sqlite3.h>
#include <stdint.h>
#include <sys/types.h>

/// Opens `path` through the guarding VFS, registered on the first call, and applies the fixed settings of a connection
/// before any statement runs. `path` is absolute and free of links. On failure `*db` is NULL and `*system_errno` says why.
int csqlite_open(const char *path, int flags, sqlite3 **db, int *system_errno);

/// Whether -wal and -shm stay, unmerged, when the connection closes. On for every group file, off while one is made.
int csqlite_keep_log(sqlite3 *db, int keep);

/// Reads bytes of the main file through SQLite's own descriptor; SQLITE_IOERR_SHORT_READ, and zeros, where it ends before.
int csqlite_read(sqlite3 *db, void *bytes, int count, long long offset);

/// The size of the main file, asked through SQLite's own descriptor.
int csqlite_size(sqlite3 *db, long long *count);

/// Asks SQLite whether the open main file is no longer the one at its path.
int csqlite_has_moved(sqlite3 *db, int *moved);

/// A number that changes when another connection has committed; fresh once a transaction has begun.
int csqlite_data_version(sqlite3 *db, unsigned int *version);

/// Lets VACUUM, which attaches a database in memory, run (or not).
void csqlite_allow_attaching(sqlite3 *db, int count);

/// What a connection watches over.
struct csqlite_watch {
  /// The work a single call of `sqlite3_step` may still do, in instructions of SQLite's machine.
  long long budget;
  /// How often this connection committed, and how many pages the log held after the last time.
  int commits, log_pages;
};

/// Interrupts the running statement of `db` when the budget is used up, and notes commits. `watch` outlives the connection.
void csqlite_watch(sqlite3 *db, struct csqlite_watch *watch);

/// Binds a copy of `count` bytes; a count of zero binds a blob without bytes, never NULL.
int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count);

/// How many times this process was forked before it became this one; the same for as long as it lives.
int csqlite_fork_generation(void);

/// Gives the file `from` the name `to`, atomically; fails with EEXIST where that name is taken.
int csqlite_rename_new(const char *from, const char *to);

/// Gives each of two files or folders the other's name, atomically; fails with EINVAL where the file system cannot.
int csqlite_exchange(const char *left, const char *right);

/// The number of the file system that `path` lies on, as in linux/magic.h; 0 where that cannot be told.
uint32_t csqlite_file_system(const char *path);

/// A descriptor that only names what lies at `path`, not following a link; closing it ends no lock. -1 sets errno.
int csqlite_name(const char *path);

/// Gives what the descriptor names, or has open, to a Unix group; -1 sets errno.
int csqlite_give_to_group(int descriptor, gid_t group);
