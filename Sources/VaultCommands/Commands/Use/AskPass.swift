internal import Exchange
import Glibc
internal import Vault

/// `vault askpass PROMPT`
struct AskPass: Command {
  static let about = About(
    "Answer a prompt of ssh, git or sudo, which run this command with the prompt's text.",
    usage: "vault askpass PROMPT [-g GROUP]",
    more: """
      These programs run the executable under the name vault-askpass, which tools/install links: set SSH_ASKPASS, \
      GIT_ASKPASS or SUDO_ASKPASS to its path. If exactly one item answers the prompt (see vault askpass add), its \
      value is the answer. Any other prompt is shown on the terminal, and so is every yes-or-no question.
      """,
    example: """
      export SUDO_ASKPASS=/usr/local/bin/vault-askpass
      sudo -A true
      """)

  let prompt: String
  let group: String?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    prompt = try arguments.argument("prompt", "The prompt's text.")
    group = arguments.group()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    switch session.variable("SSH_ASKPASS_PROMPT") {
    case "confirm":
      guard let terminal = session.terminal else {
        throw Failure(.locked, "a person has to agree to '\(quoted)', and there is no terminal to ask")
      }
      guard try terminal.confirm(shown + " (yes/no) ") else {
        throw Failure(.denied, "the answer was not yes")
      }
    // ssh shows a message and waits for no answer.
    case "none": session.say(prompt)
    default:
      let isConsent = AskPassRule.asksForConsent(prompt)
      var reason: String?
      if !isConsent, let answer = try storedAnswer(session, orReason: &reason) { return try write(answer, session) }
      let nobody = isConsent ? "a person has to answer '\(quoted)'" : "no item answers the prompt '\(quoted)'"
      let terminal = try terminal(session, for: reason ?? nobody)
      if let reason { session.warn("\(reason); see: vault askpass list") }
      // A yes, and the name that git asks for, are no secrets.
      let isAloud = isConsent || prompt.hasPrefix("Username for ")
      let answer = try isAloud ? terminal.askAloud(shown) : terminal.ask(shown)
      try write(answer.exportInsecurely(), session)
    }
  }

  /// The lines of the prompt with control characters escaped, because a server may have chosen parts of it.
  private var shown: String {
    prompt.split(separator: "\n", omittingEmptySubsequences: false).map { UTF8Text.onOneLine(String($0)) }
      .joined(separator: "\n")
  }

  /// The beginning of the prompt on one line, for an error.
  private var quoted: String {
    UTF8Text.onOneLine(String(prompt.prefix(200))) + (prompt.dropFirst(200).isEmpty ? "" : "…")
  }

  /// The value of the only item that answers the prompt; nil if there is none, or for `reason`.
  private func storedAnswer(_ session: Session, orReason reason: inout String?) throws -> [UInt8]? {
    let text = AskPassRule.text(of: prompt)
    let group = try session.openGroup(group, key)
    let rules = try AskPassRule.all(in: group).filter { $0.prompt == text }
    guard let rule = rules.first, rules.count == 1 else {
      if rules.count > 1 { reason = "more than one item answers the prompt '\(quoted)'" }
      return nil
    }
    let opened = try group.open(rule.item)
    guard !opened.item.hasExpired else {
      reason = "the item that answers the prompt '\(quoted)' has expired: '\(UTF8Text.onOneLine(rule.item))'"
      return nil
    }
    let login = Login(opened)
    guard let answer = rule.isForUsername ? login.username : login.secrets.password else {
      throw Failure(.conflict, "the item that answers this prompt has no field for it", hint: "see: vault askpass list")
    }
    // The program reads only the first line, and may interpret other control characters as keys.
    guard answer.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw Failure(
        .conflict, "the item that answers this prompt has a value of several lines or with control characters")
    }
    return answer
  }

  private func terminal(_ session: Session, for reason: String) throws -> Terminal {
    if let terminal = session.terminal { return terminal }
    throw Failure(
      .locked, "\(reason), and there is no terminal to ask",
      hint: "see which items answer prompts: vault askpass list; to add one: vault askpass add NAME PROMPT")
  }

  private func write(_ answer: [UInt8], _ session: Session) throws {
    var line = answer + [0x0A]
    defer { unsafe explicit_bzero(&line, line.count) }
    try session.output.requireTextIfTerminal(line, hint: "let ssh, git or sudo run it")
    try session.output.write(line)
  }
}

/// `vault askpass add NAME PROMPT`
struct AddAskPassRule: Command {
  static let about = About(
    "Let an item answer a prompt of ssh, git or sudo.",
    usage: "vault askpass add NAME PROMPT [--username] [-g GROUP]",
    more: """
      The whole prompt must match, except for spaces at its ends; there are no patterns. The answer is the item's \
      value or, in a value of type json, the field password; with --username, it is the field username. An empty \
      PROMPT removes the rule.
      """,
    example: """
      vault askpass add sudo/web1 '[sudo] password for ann: '
      vault askpass add git/https/example.com/ann "Password for 'https://ann@example.com': "
      """)

  let name: String
  let prompt: String
  let isForUsername: Bool
  let group: String?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    prompt = try arguments.argument("prompt", "The prompt that the item answers.")
    isForUsername = arguments.flag("--username", "The prompt asks for the field username.")
    group = arguments.group()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let text = AskPassRule.text(of: prompt)
    guard !AskPassRule.asksForConsent(text) else {
      throw Failure.usage("a question that is answered by yes or no is always put to a person")
    }
    let key = isForUsername ? AskPassRule.usernameAttribute : AskPassRule.attribute
    try session.openGroup(group, self.key).change(name, Details(attributes: [key: text.isEmpty ? nil : text]))
  }
}

/// `vault askpass list`
struct ListAskPassRules: Command {
  static let about = About(
    "List the prompts that items answer.", usage: "vault askpass list [-g GROUP] [--json]",
    example: """
      vault askpass list
      """)

  let group: String?
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    group = arguments.group()
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let rules = try AskPassRule.all(in: session.openGroup(group, key))
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for rule in rules {
          try json.object { (json) throws(Failure) in
            try json.string("prompt", rule.prompt)
            try json.string("item", rule.item)
            try json.string("field", rule.field)
          }
        }
      }
    }
    var table = Table("PROMPT", "ITEM", "FIELD")
    for rule in rules { table.add(rule.prompt, rule.item, rule.field) }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

/// A prompt that an item answers: an attribute of the item.
struct AskPassRule {
  let prompt: String
  let item: String
  let isForUsername: Bool

  var field: String { isForUsername ? "username" : "password" }

  static let attribute = "askpass"
  static let usernameAttribute = "askpass-username"

  static func isAttribute(_ key: String) -> Bool { key == attribute || key == usernameAttribute }

  /// The part of a prompt that is compared. Most prompts end with a space, which is easily forgotten.
  static func text(of prompt: String) -> String {
    var text = prompt[...]
    while text.last == " " { text.removeLast() }
    while text.first == " " { text.removeFirst() }
    return String(text)
  }

  /// Whether the prompt is answered by yes or no, like ssh's questions about the key of a host: the first has
  /// `(yes/no/[fingerprint])`, the second `Please type 'yes', 'no' or the fingerprint: `.
  static func asksForConsent(_ prompt: String) -> Bool {
    let prompt = prompt.lowercased()
    return prompt.holds("(yes/no") || prompt.holds("'yes'")
  }

  static func all(in group: AccessGroup) throws(VaultError) -> [AskPassRule] {
    var rules: [AskPassRule] = []
    for item in try group.items() {
      for (key, isForUsername) in [(attribute, false), (usernameAttribute, true)] {
        guard let prompt = item.attributes[key] else { continue }
        rules.append(AskPassRule(prompt: prompt, item: item.name.description, isForUsername: isForUsername))
      }
    }
    return rules
  }
}
