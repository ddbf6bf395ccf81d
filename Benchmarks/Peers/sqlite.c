// Point reads and durable sets of a plain table, in one process: what SQLite, or SQLCipher with a raw key, takes for what
// Vault does with proofs. Built twice by tools/bench, against libsqlite3 and against libsqlcipher.
//
//   sqlite FILE fill COUNT | get COUNT | set COUNT      prints one line of JSON
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef SQLCIPHER
#define SQLITE_HAS_CODEC
#include <sqlcipher/sqlite3.h>
#else
#include <sqlite3.h>
#endif

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double median(double *values, int count) {
  qsort(values, count, sizeof *values, compare);
  return values[count / 2];
}

static sqlite3 *database;

static void run(const char *sql) {
  if (sqlite3_exec(database, sql, 0, 0, 0) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(database));
    exit(1);
  }
}

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, 0) != SQLITE_OK) exit(1);
  return statement;
}

static void bind_name(sqlite3_stmt *statement, int number) {
  char name[64];
  snprintf(name, sizeof name, "service/%d/password", number);
  sqlite3_bind_text(statement, 1, name, -1, SQLITE_TRANSIENT);
}

static void fill(int count) {
  run("CREATE TABLE item(name TEXT PRIMARY KEY, label TEXT, changed INTEGER, version INTEGER, value BLOB) WITHOUT ROWID");
  run("BEGIN");
  sqlite3_stmt *insert = prepare("INSERT INTO item VALUES(?, 'a label', 1700000000, 1, zeroblob(32))");
  for (int number = 0; number < count; number++) {
    bind_name(insert, number);
    sqlite3_step(insert);
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
  run("COMMIT");
  printf("{}\n");
}

static void get(int count) {
  sqlite3_stmt *select = prepare("SELECT value FROM item WHERE name = ?");
  double rates[8];
  long bytes = 0;
  for (int round = 0; round < 8; round++) {
    double start = now();
    for (int turn = 0; turn < 50000; turn++) {
      bind_name(select, rand() % count);
      if (sqlite3_step(select) == SQLITE_ROW) bytes += sqlite3_column_bytes(select, 0);
      sqlite3_reset(select);
    }
    rates[round] = 50000 / (now() - start);
  }
  printf("{\"perSecond\":%f,\"bytes\":%ld}\n", median(rates + 1, 7), bytes);
}

static void set(int count) {
  sqlite3_stmt *update = prepare("UPDATE item SET value = zeroblob(33), version = version + 1 WHERE name = ?");
  enum { turns = 2000 };
  static double micros[turns];
  for (int turn = 0; turn < turns; turn++) {
    bind_name(update, rand() % count);
    double start = now();
    sqlite3_step(update);
    sqlite3_reset(update);
    micros[turn] = (now() - start) * 1e6;
  }
  printf("{\"microseconds\":%f}\n", median(micros, turns));
}

int main(int argc, char **argv) {
  if (argc != 4 || sqlite3_open(argv[1], &database) != SQLITE_OK) return 64;
#ifdef SQLCIPHER
  run("PRAGMA key = \"x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'\"");
#endif
  run("PRAGMA journal_mode = WAL");
  run("PRAGMA synchronous = FULL");
  int count = atoi(argv[3]);
  if (!strcmp(argv[2], "fill")) fill(count);
  else if (!strcmp(argv[2], "get")) get(count);
  else if (!strcmp(argv[2], "set")) set(count);
  else return 64;
  sqlite3_close(database);
  return 0;
}
