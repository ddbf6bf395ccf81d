// A VFS that wraps SQLite's own and lets a connection access a group file and its log, and nothing else on the disk.
#pragma once

#include <sqlite3.h>

#define GUARDING_VFS_NAME "vault-guard"

// Registers the VFS, but not as the default.
int guarding_vfs_register(void);

// Keeps others from writing through SQLite until `file`, which is read alone, is closed, and makes its next transaction read
// the log anew. The shared index is opened, but never read. SQLITE_BUSY if somebody is writing, or keeps the lock.
int guarding_vfs_exclude_writers(sqlite3_file *file);

// The descriptor of a file that the VFS opened; -1 where that is not known.
int guarding_vfs_descriptor(sqlite3_file *file);
