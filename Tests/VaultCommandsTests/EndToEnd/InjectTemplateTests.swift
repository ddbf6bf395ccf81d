import Glibc
import Testing

@testable import VaultCommands

/// `vault inject`: templates with references.
@Suite struct InjectTemplateTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "db/password", input: "hunter2 'vault:///db/password' {{ vault:///x }}")
    store.run("set", "server", "--type", "json", input: #"{"host":"db1"}"#)
    _ = store.run("set", "bytes", input: "")
  }

  private let template =
    "host={{ vault:///server#host }}\npassword={{vault://default/db/password}}\nbare vault:///server#host,\n"
  private let result = "host=db1\npassword=hunter2 'vault:///db/password' {{ vault:///x }}\nbare db1,\n"

  @Test func `references are replaced by values, which are not searched again`() {
    #expect(store.run("inject", input: template).output == result)
    #expect(store.run("inject", "-i", "-", input: template).output == result)
    let file = store.folder.write("template", Array(template.utf8))
    #expect(store.run("inject", "-i", file, "-o", store.folder.file("out")).output.isEmpty)
    #expect(store.folder.read("out") == Array(result.utf8) && store.folder.mode("out") == 0o600)
    // A template without references is copied.
    #expect(store.run("inject", input: "").output == "")
  }

  @Test func `bytes that are not text are copied`() {
    _ = Transcript(["set", "bytes", "--exact"], input: [0, 255, 10], environment: store.environment)
    let injected = Transcript(
      ["inject"], input: [254, 0] + Array("vault:///bytes".utf8) + [128], environment: store.environment)
    #expect(injected.outputBytes == [254, 0, 0, 255, 10, 128])
  }

  @Test func `an existing output file is replaced whatever its mode, and a link is not followed`() {
    let old = store.folder.write("out", Array("old".utf8), mode: 0o644)
    #expect(store.run("inject", "-o", old, input: template).status == 0)
    #expect(store.folder.mode("out") == 0o600)
    #expect(unsafe symlink(old, store.folder.file("link")) == 0)
    let linked = store.run("inject", "-o", store.folder.file("link"), input: "x")
    #expect(linked.status == 12 && store.folder.read("out") == Array(result.utf8))
  }

  @Test(arguments: [
    ("a\nb {{ vault:///absent }}\n", Int32(10), "stdin, line 2: no such item"),
    ("{{ vault:///server#host }}\n\nvault:///server#absent", 10, "stdin, line 3: the value has no such field"),
    ("hunter2 {{ vault:///server", 64, "stdin, line 1: a reference in braces is not followed by '}}'"),
    ("{{ vault://hunter2 }}", 64, "stdin, line 1: this is not a reference: it names no item"),
  ]) func `an unreadable reference writes nothing and is named with its line`(
    template: String, status: Int32, words: String
  ) {
    let names = store.folder.names()
    let injected = store.run("inject", "-o", store.folder.file("out"), input: "{{ vault:///db/password }}" + template)
    #expect(injected.status == status && injected.errors.contains(words), "\(injected.errors)")
    #expect(!injected.errors.contains("hunter2") && injected.output.isEmpty)
    #expect(store.folder.names() == names)
    let shown = store.run("inject", input: "{{ vault:///db/password }}" + template)
    #expect(shown.status == status && shown.output.isEmpty)
  }

  @Test func `a template cannot be its own output, under any path`() {
    let file = store.folder.write("template", Array(template.utf8))
    #expect(unsafe link(file, store.folder.file("second")) == 0)
    for output in [file, store.folder.file("second"), store.folder.path + "/./template"] {
      let refused = store.run("inject", "--input", file, "--output", output)
      #expect(refused.status == 64)
      #expect(refused.errors == "vault: error: -o names the template itself\nvault: hint: write to another file\n")
    }
    #expect(store.folder.read("template") == Array(template.utf8))
  }

  @Test func `an output path without a name or with a missing folder is an error`() {
    let nameless = store.run("inject", "-o", "", input: template)
    #expect(nameless.status == 64 && nameless.errors.hasPrefix("vault: error: -o needs a file\n"))
    let homeless = store.run("inject", "-o", store.folder.file("absent/out"), input: template)
    #expect(homeless.status == 64)
    #expect(homeless.errors.hasPrefix("vault: error: the folder of --output does not exist\n"))
  }

  @Test func `a missing template is an error`() {
    let missing = store.run("inject", "-i", store.folder.file("absent"))
    #expect(missing.status == 64 && missing.errors.contains("cannot be read: it does not exist"))
  }
}
