/// `get NAME`, `set NAME` and the same with `-g GROUP`: read here, because setting up the argument parser takes longer than
/// all the rest of a `get`. Anything else is the parser's.
enum PlainForm {
  case get(GetRequest)
  case set(SetRequest)

  /// - Returns: nil unless the parser would understand the same.
  init?(_ arguments: [String]) {
    guard arguments.count == 2 || arguments.count == 4, !arguments[1].hasPrefix("-") else { return nil }
    var group: String?
    if arguments.count == 4 {
      guard arguments[2] == "-g" || arguments[2] == "--group", !arguments[3].hasPrefix("-") else { return nil }
      group = arguments[3]
    }
    switch arguments[0] {
    case "get": self = .get(GetRequest(name: arguments[1], group: group))
    case "set": self = .set(SetRequest(name: arguments[1], group: group))
    default: return nil
    }
  }

  func run(in session: Session) throws {
    switch self {
    case .get(let request): try request.run(in: session)
    case .set(let request): try request.run(in: session)
    }
  }
}
