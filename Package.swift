// swift-tools-version: 6.2

import PackageDescription

// The manifest is the architecture: a module sees what its `dependencies:` name and nothing else.
//
//   vault     VaultCLI -> VaultCommands -> Vault -> GroupFile -> Sealing -> CSodium
//                                                   GroupFile -> CSQLite
//                         VaultCommands -> Exchange -> KeyedArchives <- Vault
//   exchange  VaultExchange -> ForeignStores -> { Exchange, CGcrypt, CZlib }
//   library   VaultFoundation -> { Vault, SecureCoding }      SecureCoding -> KeyedArchives
//
// The executable does without Foundation's ICU, which would triple its size and its start: what needs Foundation is in
// VaultFoundation and SecureCoding.

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "vault",
  products: [
    .library(name: "Vault", targets: ["Vault", "VaultFoundation"]),
    .library(name: "SecureCoding", targets: ["SecureCoding"]),
    .executable(name: "vault", targets: ["VaultCLI"]),
    .executable(name: "vault-exchange", targets: ["VaultExchange"]),
  ],
  targets: [
    // The system's libraries, and the few lines of C that Swift cannot call.
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
    .target(name: "CVaultSystem"),
    .systemLibrary(name: "CGcrypt", pkgConfig: "libgcrypt", providers: [.apt(["libgcrypt20-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

    .target(name: "Sealing", dependencies: ["CSodium"], swiftSettings: settings),
    .target(name: "KeyedArchives", swiftSettings: settings),
    .target(name: "SecureCoding", dependencies: ["KeyedArchives"], swiftSettings: settings),
    .target(name: "Exchange", dependencies: ["KeyedArchives"], swiftSettings: settings),
    .target(name: "GroupFile", dependencies: ["Sealing", "CSQLite"], swiftSettings: settings),
    .target(
      name: "Vault", dependencies: ["GroupFile", "Sealing", "KeyedArchives", "CVaultSystem"], swiftSettings: settings),
    .target(
      name: "VaultFoundation", dependencies: ["Vault", "SecureCoding", "KeyedArchives"], swiftSettings: settings),
    .target(
      name: "VaultCommands", dependencies: ["Vault", "Exchange", "KeyedArchives", "CVaultSystem"], swiftSettings: settings),
    .executableTarget(
      name: "VaultCLI", dependencies: ["VaultCommands", "CVaultSystem"], swiftSettings: settings),

    // What vault import starts to read other programs' stores, so that vault is not linked with what they need.
    .target(
      name: "ForeignStores", dependencies: ["Exchange", "KeyedArchives", "CGcrypt", "CZlib"], swiftSettings: settings),
    .executableTarget(
      name: "VaultExchange", dependencies: ["ForeignStores", "Exchange", "CVaultSystem"], swiftSettings: settings),

    // What several test targets need.
    .target(name: "TestSupport", dependencies: ["Sealing"], path: "Tests/TestSupport", swiftSettings: settings),
    .testTarget(name: "KeyedArchivesTests", dependencies: ["KeyedArchives", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "SecureCodingTests", dependencies: ["SecureCoding", "KeyedArchives", "TestSupport"], exclude: ["Vectors"],
      swiftSettings: settings),
    .testTarget(
      name: "ExchangeTests", dependencies: ["Exchange", "KeyedArchives", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "ForeignStoresTests", dependencies: ["ForeignStores", "Exchange"], exclude: ["Vectors"],
      swiftSettings: settings),
    .testTarget(name: "SealingTests", dependencies: ["Sealing", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "GroupFileTests", dependencies: ["GroupFile", "Sealing", "CSQLite", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "VaultTests", dependencies: ["Vault", "GroupFile", "Sealing", "TestSupport"],
      swiftSettings: settings),
    .testTarget(name: "VaultFoundationTests", dependencies: ["VaultFoundation"], swiftSettings: settings),
    .testTarget(
      name: "VaultCommandsTests",
      dependencies: ["VaultCommands", "Vault", "GroupFile", "KeyedArchives", "TestSupport"],
      swiftSettings: settings),
  ]
)
