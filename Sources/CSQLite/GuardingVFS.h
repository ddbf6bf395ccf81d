// A VFS that wraps SQLite's own and lets a connection access a group file and its log, and nothing else on the disk.
#pragma once

#define GUARDING_VFS_NAME "vault-guard"

// Registers the VFS, but not as the default.
int guarding_vfs_register(void);
