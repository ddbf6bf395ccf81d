import Foundation
import TestSupport
import Testing

@testable import VaultCommands

/// Env files compared with python-dotenv, whose rules we follow, and with other readers.
@Suite(.needsClients) struct PythonDotenvTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  /// The values that python-dotenv reads from a file, without expansion; nil if it warns about a line.
  private func read(_ path: String) throws -> [String: String]? {
    let script = """
      import json, sys
      from dotenv.parser import parse_stream
      with open(sys.argv[1], encoding="utf-8") as stream:
          bindings = list(parse_stream(stream))
      if any(binding.error or binding.value is None and binding.key for binding in bindings):
          print("null")
      else:
          print(json.dumps({binding.key: binding.value for binding in bindings if binding.key}))
      """
    let result = Executable(["-c", script, path], program: "/usr/bin/python3", environment: ["PATH": Machine.path])
      .wait()
    try #require(result.status == 0, "\(result.errors)")
    let read = try JSONSerialization.jsonObject(with: Data(result.outputBytes), options: .fragmentsAllowed)
    return read as? [String: String]
  }

  @Test func `python-dotenv reads an exported file as it was set`() throws {
    let parts = [
      "'", "\"", "\\", "#", " ", "\n", "\r", "\t", "$", "=", "é", "\u{A0}", "\u{2028}", "\u{1}", "n", "a", "{",
    ]
    let names = ["A", "a b", "db/x", "it's", "é", "export ", "1"]
    var random = SeededGenerator(seed: 7)
    var values: [String: String] = [:]
    for index in 0..<RunLength.of(3_000, sample: 300) {
      var value = (0..<Int.random(in: 0...7, using: &random)).map { _ in parts.randomElement(using: &random)! }.joined()
      // A value that ends like this may have no form; another test covers that refusal.
      if value.hasSuffix("\\") { value += "." }
      values["\(names.randomElement(using: &random)!)\(index)"] = value
    }
    let items = values.map { ["name": $0.key, "value": $0.value] }
    let json = try JSONSerialization.data(withJSONObject: ["items": items])
    #expect(store.execute(["import", "-", "--from", "json"], input: Array(json)).status == 0)
    let path = store.folder.file("out.env")
    let written = store.run("export", "--to", "dotenv", "-g", "default", "--yes-print-secrets", "--output", path)
    try #require(written.status == 0, "\(written.errors)")
    let found = try #require(try read(path))
    #expect(found == values)
    #expect(
      store.run("import", path, "--from", "dotenv").errors.contains(" 0 new, 0 replaced, \(values.count) unchanged\n"))
  }

  @Test func `bash and Node.js read an exported file as it was set, but for values of which the export warns`() throws {
    let parts = ["'", "\"", "\\", "#", " ", "\n", "\t", "$", "`", "=", "é", "\u{A0}", "\u{1}", "n", "a", "{", "!"]
    var random = SeededGenerator(seed: 13)
    var values = ["IT": "it's", "PATH_OF_WINDOWS": #"C:\new dir"#, "LINES": "l1\n\"l2\"", "REF": "${HOME}"]
    for index in 0..<300 {
      let value = (0..<Int.random(in: 0...5, using: &random)).map { _ in parts.randomElement(using: &random)! }
      values["A\(index)"] = value.joined() + "."
    }
    func export(_ values: [String: String], _ group: String) throws -> (path: String, errors: String) {
      store.run("group", "create", group)
      let items = values.map { ["name": $0.key, "value": $0.value] }
      let json = try JSONSerialization.data(withJSONObject: ["items": items])
      #expect(store.execute(["import", "-", "--from", "json", "-g", group], input: Array(json)).status == 0)
      let path = store.folder.file("\(group).env")
      let written = store.run("export", "--to", "dotenv", "-g", group, "--yes-print-secrets", "--output", path)
      return (path, written.errors)
    }
    let warned = try export(values, "all").errors
    values = values.filter { name, _ in !warned.contains("the value of '\(name)' has to be written with backslashes") }
    #expect(values.count > 200 && values["IT"] != nil && values["LINES"] != nil)
    let (path, errors) = try export(values, "alike")
    #expect(!errors.contains("backslashes"))
    var readers = [("/bin/bash", ["-c", #"set -a; . "$0"; exec env -0"#, path])]
    if FileManager.default.isExecutableFile(atPath: "/usr/bin/node") {
      let script = #"for (const k in process.env) process.stdout.write(k + "=" + process.env[k] + "\0")"#
      readers.append(("/usr/bin/node", ["--env-file=\(path)", "-e", script]))
    }
    for (program, arguments) in readers {
      let read = Executable(arguments, program: program, environment: ["PATH": Machine.path]).wait()
      let lines = Set(read.output.split(separator: "\0").map(String.init))
      for (name, value) in values {
        #expect(lines.contains("\(name)=\(value)"), "\(program) \(name) \(value.debugDescription)")
      }
    }
  }

  @Test func `our reader gives the values of python-dotenv or refuses the line`() throws {
    let parts = [
      "A", "B", "=", "=", "'", "\"", "\\", "#", " ", "\n", "\n", "\t", "export ", "x", "$", "\\n", "\\'", "é", ",",
      "\u{A0}", "\u{85}", "\u{2028}", "\u{1F}", "\u{200B}",
    ]
    var random = SeededGenerator(seed: 11)
    var agreed = 0
    for _ in 0..<RunLength.of(1_000, sample: 60) {
      let text = (0..<Int.random(in: 1...14, using: &random)).map { _ in parts.randomElement(using: &random)! }.joined()
      let path = store.folder.write("in.env", Array(text.utf8))
      let group = "g\(agreed)"
      store.run("group", "create", group)
      let done = store.run("import", path, "--from", "dotenv", "-g", group)
      guard done.status == 0 else {
        #expect(done.status == 64)
        continue
      }
      let found = try #require(try read(path), "\(text.debugDescription)")
      for (name, value) in found {
        let stored = store.run("get", name, "-g", group).output
        // python-dotenv alone takes a comment after white space for the value.
        #expect(stored == value || stored.isEmpty && value.hasPrefix("#"), "\(text.debugDescription)")
      }
      let names = store.run("list", "-g", group).output.split(separator: "\n").count
      #expect(names == found.count, "\(text.debugDescription)")
      agreed += 1
    }
    #expect(agreed > 5)
  }
}
