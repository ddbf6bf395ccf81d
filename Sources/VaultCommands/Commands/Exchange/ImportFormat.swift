internal import Exchange
import Glibc
internal import KeyedArchives
internal import Vault

/// The formats that `vault import` reads.
enum ImportFormat: String, CaseIterable {
  case dotenv, csv, plist, json, pass, gopass
  case kdbx, bitwarden, keychain, yaml, sops
  case keepassXML = "keepass-xml"
  case onePassword = "1pux"
  case secretService = "secret-service"

  /// The formats in words, for hints.
  static var names: String { "formats: \(list)" }

  static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }

  /// - Parameters:
  ///   - name: the argument of `--from`. Without it the file's name decides, and a pipe is read as JSON. A folder
  ///     with `.gpg-id` or `.age-recipients` is a password store.
  /// - Throws: `usage`.
  init(named name: String?, of path: String?) throws(Failure) {
    if let name {
      guard let format = ImportFormat(rawValue: name) else {
        throw .usage("there is no such format", hint: ImportFormat.names)
      }
      self = format
      return
    }
    let file = path?.split(separator: "/").last.map(String.init) ?? ""
    if path == "-" || file.hasSuffix(".json") {
      // The names that Bitwarden gives to its exports.
      self = file.hasPrefix("bitwarden_") && file.holds("export") ? .bitwarden : .json
    } else if file.hasPrefix(".env") || file.hasSuffix(".env") {
      self = .dotenv
    } else if file.hasSuffix(".csv") {
      self = .csv
    } else if let format = ImportFormat.suffixes.first(where: { file.hasSuffix($0.key) })?.value {
      self = format
    } else if let path,
      let format = ImportFormat.folders.first(where: { unsafe access(path + $0.key, F_OK) == 0 })?.value
    {
      self = format
    } else {
      throw .usage("--from is missing", hint: ImportFormat.names)
    }
  }

  /// Whether it has the form of Bitwarden's exports, which our own and an object of names and values do not have.
  private static func isBitwarden(_ text: [UInt8]) -> Bool {
    JSONField.kind(of: "encrypted", in: text) == .bool
      && (JSONField.kind(of: "items", in: text) == .container || JSONField.kind(of: "data", in: text) == .string)
  }

  /// The error for a file whose values sops encrypted.
  private static func isOfSops(_ file: ImportFile) -> Failure {
    Failure(.usage, "\(file.name) is encrypted by sops", hint: "vault import FILE --from sops")
  }

  private static let suffixes: [String: ImportFormat] = [
    ".plist": .plist, ".kdbx": .kdbx, ".1pux": .onePassword, ".yaml": .yaml, ".yml": .yaml,
  ]

  /// The files at the top of a password store that name its recipients.
  private static let folders: KeyValuePairs<String, ImportFormat> = ["/.gpg-id": .pass, "/.age-recipients": .gopass]

  /// The same format in `vault-exchange`; nil if `vault` reads it itself. If `vault-exchange` reads a file, entries
  /// that cannot be imported are left out.
  var foreign: ForeignFormat? { ForeignFormat(rawValue: rawValue) }

  private var isPasswordStore: Bool { self == .pass || self == .gopass }

  /// Whether items that cannot be imported are left out.
  var leavesOut: Bool { foreign != nil || self == .secretService }

  /// The name of the file in messages; nil for a password store, whose entries have their own names.
  func fileName(_ path: String?) -> String? { isPasswordStore ? nil : path.map { ImportFile(path: $0).name } }

  /// Reads the items to import.
  ///
  /// - Parameters:
  ///   - path: nil if none was named, because password stores have a default folder.
  ///   - lock: the passphrase and key file.
  /// - Throws: the error that kept it from being read. A defect names the file and the place, never the text.
  func items(of path: String?, _ lock: FileLock = FileLock(), in session: Session) throws(Failure) -> ImportedItems {
    if self == .secretService, path != nil {
      throw .usage("the Secret Service has no file", hint: "vault import --from secret-service")
    }
    if path == nil, !isPasswordStore, self != .secretService {
      throw .usage("FILE is missing", hint: "name a file, or - for standard input")
    }
    // The many short lines of an env file may take a hundred times their size in memory.
    let file =
      self == .dotenv ? ImportFile(path: path ?? "", limit: ImportFile.environmentLimit) : ImportFile(path: path ?? "")
    do {
      switch self {
      case .dotenv:
        let environment = try EnvironmentFile(file.text(session.streams))
        guard !environment.entries.contains(where: { $0.name == "sops_mac" }) else { throw Self.isOfSops(file) }
        return environment.importedItems
      case .csv: return try CSVItems.items(of: file.text(session.streams))
      case .json:
        let text = try file.text(session.streams)
        guard !Self.isBitwarden(Array(text.utf8)) else {
          throw Failure(
            .usage, "\(file.name) is an export of Bitwarden", hint: "vault import FILE --from bitwarden")
        }
        let metadata = JSONField.value(of: "sops", in: Array(text.utf8)) ?? []
        guard JSONField.kind(of: "mac", in: metadata) == nil, JSONField.kind(of: "lastmodified", in: metadata) == nil
        else { throw Self.isOfSops(file) }
        return try JSONItems.items(of: text)
      case .secretService:
        let bytes = try ExchangeProgram.secretService(errors: session.streams.errors)
        let text = unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        return try JSONItems.items(of: text)
      case .plist:
        let bytes = try file.read(session.streams).exportInsecurely()
        return try PropertyListItems.items(of: PropertyList(bytes, limits: .standard), byteCount: bytes.count)
      case .pass: return try PasswordStore(path, session).items(session)
      case .gopass: return try PasswordStore(path, session, isGopass: true, identities: lock.keyFile).items(session)
      case .kdbx, .bitwarden, .keychain, .yaml, .sops, .keepassXML, .onePassword:
        guard let foreign else { throw Failure.usage("there is no such format", hint: ImportFormat.names) }
        return try ForeignImport(format: foreign, file: file, lock: lock).items(session)
      }
    } catch let fault as EnvironmentFile.Fault {
      throw Failure(.usage, "\(file.name), line \(fault.line): \(fault.words)")
    } catch let fault as ImportFault {
      let place = fault.place.map { ", \(UTF8Text.onOneLine($0))" } ?? ""
      let isAssumed = self == .json && path == "-" && fault.kind == .unclear
      throw Failure(
        fault.status, "\(file.name)\(place): \(fault.words)",
        hint: isAssumed ? "stdin is read as JSON unless --from names another format: \(Self.list)" : nil)
    } catch let error as ArchiveError {
      let failure = Failure(error)
      throw Failure(failure.status, "\(file.name): \(failure.message)", hint: failure.hint)
    } catch {
      throw error as? Failure ?? Failure(.unexpected, "something unexpected happened")
    }
  }
}
