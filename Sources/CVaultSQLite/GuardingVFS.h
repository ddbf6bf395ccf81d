// A VFS that wraps SQLite's own and lets a connection access a group file and its log, and nothing else on the disk.
#pragma once

#include <sqlite3.h>

#define GUARDING_VFS_NAME "vault-guard"

// Registers the VFS, but not as the default.
int guarding_vfs_register(void);

// The descriptor of a file that the VFS opened; -1 where that is not known.
int guarding_vfs_descriptor(sqlite3_file *file);

// A transaction begins that may write to `log`.
void guarding_vfs_begin(sqlite3_file *log);
