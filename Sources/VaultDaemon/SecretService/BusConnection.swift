#if Daemon
  internal import CSystemd
  import Foundation
  import Glibc
  import Synchronization

  /// The connection to the session bus, with a thread of its own, because sd-bus does not lock. Calls leave it as values,
  /// and answers come back as values.
  final class BusConnection: Sendable {
    /// What others hand over to the thread.
    private enum Order: Sendable {
      case answer(UInt64, Result<[BusValue], BusFailure>)
      case signal(BusSignal)
      case end
    }

    /// What the connection tells.
    enum Event: Sendable {
      case call(BusCall)
      /// A client has left the bus.
      case left(String)
      /// Whether the name is this connection's now; otherwise another program has it, which is named if the bus knows.
      case name(Bool, owner: String?)
      case ended(code: Int32)
    }

    private let orders = Mutex<[Order]>([])
    /// A pipe that is readable while the thread has orders.
    private let wake: (read: CInt, write: CInt)
    private let name: String
    private let take: @Sendable (Event) -> Void

    /// The most memory of calls that wait for their answers, of one client and of all. libsecret sends a call for every
    /// item at once.
    private static let (clientLimit, totalLimit) = (64 << 20, 256 << 20)
    /// The name of xdg-desktop-portal, which sandboxed programs call.
    private static let portalName = "org.freedesktop.portal.Desktop"

    init(name: String, take: @escaping @Sendable (Event) -> Void) {
      (self.name, self.take) = (name, take)
      var ends: [CInt] = [-1, -1]
      _ = unsafe pipe(&ends)
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
      wake = (ends[0], ends[1])
    }

    deinit {
      close(wake.read)
      close(wake.write)
    }

    /// Connects, and takes calls until ``end()``.
    func start() { Thread.detachNewThread { [self] in run() } }

    func answer(_ call: BusCall, _ result: Result<[BusValue], BusFailure>) { give(.answer(call.number, result)) }
    func send(_ signal: BusSignal) { give(.signal(signal)) }

    /// Sends what was handed over before, and leaves the bus.
    func end() { give(.end) }

    private func give(_ order: Order) {
      orders.withLock { $0.append(order) }
      // A full pipe wakes the thread as well.
      var byte: UInt8 = 0
      _ = unsafe write(wake.write, &byte, 1)
    }

    private func run() {
      var code: Int32 = 0
      do throws(BusError) { try serve() } catch { code = error.code }
      take(.ended(code: code))
    }

    private func serve() throws(BusError) {
      var opened: OpaquePointer?
      try BusError.check(unsafe sd_bus_open_user(&opened))
      guard let bus = unsafe opened else { throw BusError(code: ENOTCONN) }
      defer { unsafe sd_bus_flush_close_unref(bus) }
      var thread = unsafe BusThread(bus: bus)
      try thread.watchClients()
      unsafe try request(on: bus, &thread)
      while true {
        if try obey(&thread) { return }
        var received: OpaquePointer?
        let code = unsafe sd_bus_process(bus, &received)
        try BusError.check(code)
        if let received = unsafe received {
          take(unsafe BusMessage(received), &thread)
        } else if code == 0 {
          unsafe try wait(for: bus)
        }
      }
    }

    private func request(on bus: OpaquePointer, _ thread: inout BusThread) throws(BusError) {
      // Without flags: in the queue it gets the name when the other program ends. The bus tells by a signal, too, when the
      // name is this connection's.
      var answer = unsafe try BusMessage.answerOfBus(to: "RequestName", [.text(name), .word(0)], on: bus)
      guard (try? answer.values())?.first == .number(2) else { return }
      take(.name(false, owner: thread.program(named: name)?.peer.executable))
    }

    /// - Returns: whether it is to end.
    private func obey(_ thread: inout BusThread) throws(BusError) -> Bool {
      var isEnding = false
      let given = orders.withLock { orders in
        defer { orders = [] }
        return orders
      }
      for order in given {
        switch order {
        case .answer(let number, let result): thread.answer(number, result)
        case .signal(let signal): thread.send(signal)
        case .end: isEnding = true
        }
      }
      return isEnding
    }

    private func wait(for bus: OpaquePointer) throws(BusError) {
      var deadline: UInt64 = 0
      try BusError.check(unsafe sd_bus_get_timeout(bus, &deadline))
      var requests = unsafe [
        pollfd(fd: sd_bus_get_fd(bus), events: Int16(truncatingIfNeeded: sd_bus_get_events(bus)), revents: 0),
        pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0),
      ]
      // Only calls of its own have a deadline, and it waits for those.
      _ = unsafe poll(&requests, 2, deadline == .max ? -1 : 1_000)
      var bytes = [UInt8](repeating: 0, count: 4_096)
      if requests[1].revents != 0 { _ = unsafe read(wake.read, &bytes, bytes.count) }
    }

    private func take(_ message: consuming BusMessage, _ thread: inout BusThread) {
      if message.isSignal {
        guard message.sender == BusMessage.busName, let values = try? message.values() else { return }
        guard case .text(let subject)? = values.first else { return }
        switch message.member {
        case "NameOwnerChanged" where subject.hasPrefix(":") && values.last == .text(""):
          thread.forget(subject)
          take(.left(subject))
        case "NameAcquired" where subject == name: take(.name(true, owner: nil))
        case "NameLost" where subject == name: take(.name(false, owner: nil))
        default: break
        }
        return
      }
      guard message.isCall else { return }
      message.markSensitive()
      let (client, number) = (message.sender, thread.nextNumber)
      let (path, interface, member, signature) = (
        message.path, message.interface, message.member, message.signature
      )
      let isForPortal = path.hasPrefix(BusObject.portal.path)
      let isFromPortal = isForPortal && thread.owner(of: Self.portalName) == client
      let values: Result<[BusValue], BusFailure>
      if thread.waiting[client] ?? 0 >= Self.clientLimit || thread.waitingBytes >= Self.totalLimit {
        values = .failure(.overLimit)
      } else if isForPortal, !isFromPortal {
        // Not even its files are taken.
        values = .success([])
      } else {
        values = Result { () throws(BusFailure) in try message.values(takingFiles: isFromPortal) }
      }
      let program = thread.keep(message, of: client)
      switch values {
      case .failure(let failure): thread.answer(number, .failure(failure))
      case .success(let values):
        take(
          .call(
            BusCall(
              number: number, sender: client, path: path, interface: interface, member: member, signature: signature,
              arguments: values, program: program, isFromPortal: isFromPortal)))
      }
    }
  }

  /// What the thread of a connection alone touches.
  @safe private struct BusThread: ~Copyable {
    private let bus: OpaquePointer
    private var calls: [UInt64: WaitingCall] = [:]
    private var programs: [String: BusProgram] = [:]
    /// The memory of the calls that wait for their answers, of each client and of all.
    private(set) var waiting: [String: Int] = [:]
    private(set) var waitingBytes = 0
    private(set) var nextNumber: UInt64 = 0

    private final class WaitingCall {
      let message: BusMessage
      let client: String
      let byteCount: Int

      init(_ message: consuming BusMessage, _ client: String) {
        byteCount = message.byteCount
        self.message = message
        self.client = client
      }
    }

    init(bus: OpaquePointer) { unsafe self.bus = unsafe bus }

    /// Has the bus tell which connections end.
    func watchClients() throws(BusError) {
      let rule =
        "type='signal',sender='\(BusMessage.busName)',interface='\(BusMessage.busName)',member='NameOwnerChanged',arg2=''"
      _ = unsafe try BusMessage.answerOfBus(to: "AddMatch", [.text(rule)], on: bus)
    }

    /// Keeps a call until it is answered.
    ///
    /// - Returns: the program that called; an unknown one if the bus does not say which it is.
    mutating func keep(_ message: consuming BusMessage, of client: String) -> BusProgram {
      let known = programs[client] ?? program(named: client)
      programs[client] = known
      let call = WaitingCall(message, client)
      calls[nextNumber] = call
      waiting[client, default: 0] += call.byteCount
      waitingBytes += call.byteCount
      nextNumber += 1
      return known ?? BusProgram(process: nil, user: nil)
    }

    /// What the bus knows of a connection.
    ///
    /// - Returns: `nil` if the bus does not know the connection.
    func program(named client: String) -> BusProgram? {
      guard let user = number("GetConnectionUnixUser", of: client) else { return nil }
      let process = number("GetConnectionUnixProcessID", of: client).flatMap { Int32(exactly: $0) }
      return BusProgram(process: process, user: UInt32(exactly: user))
    }

    /// The unique name of the connection that has a name.
    func owner(of name: String) -> String? {
      guard case .text(let owner)? = told("GetNameOwner", of: name) else { return nil }
      return owner
    }

    /// A number that the bus itself tells about a connection.
    private func number(_ member: String, of client: String) -> UInt64? {
      guard case .number(let number)? = told(member, of: client) else { return nil }
      return number
    }

    private func told(_ member: String, of name: String) -> BusValue? {
      guard var answer = unsafe try? BusMessage.answerOfBus(to: member, [.text(name)], on: bus) else { return nil }
      return (try? answer.values())?.first
    }

    mutating func forget(_ client: String) { programs[client] = nil }

    mutating func answer(_ number: UInt64, _ result: Result<[BusValue], BusFailure>) {
      guard let call = calls.removeValue(forKey: number) else { return }
      let left = (waiting[call.client] ?? 0) - call.byteCount
      waiting[call.client] = left > 0 ? left : nil
      waitingBytes -= call.byteCount
      // A client that has left gets nothing, and that is no error of the connection. A text that the bus does not carry,
      // because it holds what is no character, must not leave a client without an answer.
      do throws(BusError) { try send(result, call) } catch {
        try? send(.failure(.failed("the answer contains text that the bus cannot carry")), call)
      }
    }

    private func send(_ result: Result<[BusValue], BusFailure>, _ call: WaitingCall) throws(BusError) {
      switch result {
      case .success(let values):
        let answer = try BusMessage(answering: call.message)
        answer.markSensitive()
        try answer.append(values)
        unsafe try answer.send(on: bus)
      case .failure(let failure):
        let answer = try BusMessage(answering: call.message, with: failure)
        unsafe try answer.send(on: bus)
      }
    }

    func send(_ signal: BusSignal) {
      guard let message = unsafe try? BusMessage(signal, on: bus), (try? message.append(signal.values)) != nil else {
        return
      }
      unsafe try? message.send(on: bus)
    }
  }
#endif
