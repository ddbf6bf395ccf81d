internal import Glibc

/// Threads that nobody waits for.
enum DetachedThread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Runs `body` in a new thread; `false` if the system has no thread to give, and `body` is not run then.
  static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    // The program's signal handlers run in the program's own threads.
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    let retained = unsafe Unmanaged.passRetained(Body(body))
    let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
      if let argument = unsafe argument { unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
      return nil
    }
    var thread = pthread_t()
    guard unsafe pthread_create(&thread, nil, main, retained.toOpaque()) == 0 else {
      unsafe retained.release()
      return false
    }
    pthread_detach(thread)
    return true
  }
}
