#if Daemon
  import Glibc
  import VaultDaemon

  exit(await Daemon.run(Array(CommandLine.arguments.dropFirst())))
#else
  import Glibc

  // A target cannot be left out of a package, so this is what a build without the trait makes.
  let message = Array("vaultd: error: this build has no daemon; build it with: swift build --traits Daemon\n".utf8)
  _ = unsafe write(STDERR_FILENO, message, message.count)
  exit(64)
#endif
