import Testing

@testable import VaultCommands

@Suite struct PlainFormTests {
  @Test(arguments: [
    ["get", "a"], ["get", "a", "-g", "b"], ["set", "a"], ["set", "a", "--group", "b"], ["get", "a b"], ["get", ""],
  ])
  func `a plain form means what the parser reads in it`(arguments: [String]) throws {
    let command = try parse(arguments, Session(arguments: arguments, environment: [:], streams: Streams()))
    switch try #require(PlainForm(arguments)) {
    case .get(let request):
      let parsed = try #require(command as? GetItem)
      #expect(parsed.name == request.name && parsed.group.group == request.group)
      #expect(parsed.version == nil && parsed.output == nil && !parsed.json.json)
    case .set(let request):
      let parsed = try #require(command as? SetItem)
      #expect(parsed.name == request.name && parsed.group.group == request.group)
      #expect(request.source == .standardInput && request.ifVersion == nil && !request.exact)
    }
  }

  @Test(arguments: [
    [], ["get"], ["get", "-h"], ["get", "--help"], ["get", "--"], ["get", "a", "b"], ["get", "a", "b", "c"],
    ["get", "a", "-g", "-h"], ["get", "a", "-g"], ["list", "a"], ["set", "a", "--json"], ["get", "-g", "b", "a"],
  ])
  func `everything else is left to the parser`(arguments: [String]) {
    if PlainForm(arguments) != nil { Issue.record("taken") }
  }
}
