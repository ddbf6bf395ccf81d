// swift-tools-version: 6.2

import PackageDescription

// The manifest is the architecture: a module sees what its `dependencies:` name and nothing else.
//
//   ground    Ground -> CVaultSystem                     files, locks, bytes, JSON and dates; all others use it
//   vault     VaultCLI -> VaultCommands -> { Vault, Exchange, Authenticators }
//             Vault -> GroupFile -> { Sealing -> CSodium, CVaultSQLite, KeyedArchives }
//             Exchange -> KeyedArchives                  property lists of apps, and the archives in them
//             Authenticators -> { Vault, Sealing }       SSH keys and one-time codes
//   exchange  VaultExchange -> ForeignStores -> { Exchange, CGcrypt, CZlib }
//   library   VaultFoundation -> { Vault, SecureCoding }      SecureCoding -> KeyedArchives
//             KeychainItems -> VaultFoundation
//             VaultServices -> { VaultFoundation, the packages of the traits that are enabled }
//   vaultd    VaultDaemonCLI -> VaultDaemon -> { VaultFoundation, Exchange, Authenticators, Sealing, CGcrypt, and with the trait
//             Daemon SwiftNIO, Hummingbird, AsyncHTTPClient, CSystemd }
//
// The executable does without Foundation's ICU, which would triple its size and its start: what needs Foundation is in
// VaultFoundation and SecureCoding. Without traits, which none is by default, no package is fetched.

// Not NonisolatedNonsendingByDefault: in release builds Swift 6.3.1 then does not always return to the caller's actor,
// for example where such a function ends with an error. Without it, each caller returns to its own actor itself.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "vault",
  products: [
    .library(name: "Vault", targets: ["Vault", "VaultFoundation"]),
    .library(name: "SecureCoding", targets: ["SecureCoding"]),
    .library(name: "VaultServices", targets: ["VaultServices"]),
    .library(name: "KeychainItems", targets: ["KeychainItems"]),
    .executable(name: "vault", targets: ["VaultCLI"]),
    .executable(name: "vault-exchange", targets: ["VaultExchange"]),
    .library(name: "VaultDaemon", targets: ["VaultDaemon"]),
    .executable(name: "vaultd", targets: ["VaultDaemonCLI"]),
  ],
  traits: [
    .default(enabledTraits: []),
    .trait(name: "Configuration", description: "A provider of swift-configuration over an access group."),
    .trait(name: "Daemon", description: "The vaultd executable."),
    .trait(
      name: "Lifecycle", description: "A service of swift-service-lifecycle that keeps an access group open.",
      enabledTraits: ["Logging"]),
    .trait(name: "Logging", description: "Failed calls in swift-log."),
    .trait(name: "Metrics", description: "Counters and timers of calls in swift-metrics."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
  ],
  targets: [
    // The system's libraries, and the few lines of C that Swift cannot call.
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .target(name: "CVaultSystem"),
    .target(name: "CVaultSQLite", dependencies: ["CVaultSystem"], linkerSettings: [.linkedLibrary("sqlite3")]),
    .target(name: "CVaultProcess"),
    .target(name: "CVaultStart", dependencies: ["CVaultProcess"]),
    .systemLibrary(name: "CGcrypt", pkgConfig: "libgcrypt", providers: [.apt(["libgcrypt20-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // Only with the trait Daemon, so without pkg-config, whose absence every other build would report.
    .systemLibrary(name: "CSystemd"),

    // Files, bytes and texts, without any knowledge of a store.
    .target(name: "Ground", dependencies: ["CVaultSystem"], swiftSettings: settings),
    .target(name: "Sealing", dependencies: ["Ground", "CSodium"], swiftSettings: settings),
    .target(name: "KeyedArchives", dependencies: ["Ground"], swiftSettings: settings),
    .target(name: "SecureCoding", dependencies: ["KeyedArchives"], swiftSettings: settings),
    .target(name: "Exchange", dependencies: ["Ground", "KeyedArchives"], swiftSettings: settings),
    .target(
      name: "GroupFile", dependencies: ["Ground", "Sealing", "KeyedArchives", "CVaultSQLite", "CVaultSystem"],
      swiftSettings: settings),
    .target(
      name: "Vault", dependencies: ["Ground", "GroupFile", "Sealing", "CVaultSystem"], swiftSettings: settings),
    .target(name: "Authenticators", dependencies: ["Ground", "Sealing", "Vault"], swiftSettings: settings),
    .target(
      name: "VaultFoundation", dependencies: ["Ground", "Vault", "SecureCoding", "KeyedArchives"],
      swiftSettings: settings),
    .target(name: "KeychainItems", dependencies: ["VaultFoundation", "Vault"], swiftSettings: settings),
    .target(
      name: "VaultServices",
      dependencies: [
        "VaultFoundation", "Vault",
        .product(
          name: "Configuration", package: "swift-configuration", condition: .when(traits: ["Configuration"])),
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
        .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
        .product(
          name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Lifecycle"])),
      ],
      swiftSettings: settings),
    .target(
      name: "VaultCommands",
      dependencies: [
        "Ground", "Vault", "Exchange", "Authenticators", "KeyedArchives", "CVaultProcess", "CVaultSystem",
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "VaultCLI", dependencies: ["VaultCommands", "CVaultProcess", "CVaultSystem", "CVaultStart"],
      swiftSettings: settings),

    // What vault import starts to read other programs' stores, so that vault is not linked with what they need.
    .target(
      name: "ForeignStores", dependencies: ["Ground", "Exchange", "KeyedArchives", "CGcrypt", "CZlib"],
      swiftSettings: settings),
    .executableTarget(
      name: "VaultExchange", dependencies: ["ForeignStores", "Exchange", "CVaultSystem", "CVaultStart"],
      swiftSettings: settings),

    // The daemon. Targets cannot be left out, so without its trait the module is empty and the executable says why.
    .target(
      name: "VaultDaemon",
      dependencies: [
        "Ground", "VaultFoundation", "Vault", "Exchange", "Authenticators", "Sealing", "CVaultProcess", "CVaultSystem",
        "CGcrypt",
        .target(name: "CSystemd", condition: .when(traits: ["Daemon"])),
        .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["Daemon"])),
        .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Daemon"])),
        .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["Daemon"])),
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Daemon"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Daemon"])),
        .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Daemon"])),
        .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["Daemon"])),
        .product(name: "NIOExtras", package: "swift-nio-extras", condition: .when(traits: ["Daemon"])),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: .when(traits: ["Daemon"])),
        .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras", condition: .when(traits: ["Daemon"])),
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Daemon"])),
        .product(
          name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Daemon"])),
      ],
      swiftSettings: settings),
    .executableTarget(name: "VaultDaemonCLI", dependencies: ["VaultDaemon"], swiftSettings: settings),

    // What several test targets need.
    .target(
      name: "TestSupport", dependencies: ["Ground", "Sealing"], path: "Tests/TestSupport", swiftSettings: settings),
    .testTarget(name: "GroundTests", dependencies: ["Ground", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "AuthenticatorsTests", dependencies: ["Authenticators", "Vault", "TestSupport"], swiftSettings: settings),
    .testTarget(name: "KeyedArchivesTests", dependencies: ["KeyedArchives", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "SecureCodingTests", dependencies: ["SecureCoding", "KeyedArchives", "TestSupport"], exclude: ["Vectors"],
      swiftSettings: settings),
    .testTarget(
      name: "ExchangeTests", dependencies: ["Ground", "Exchange", "KeyedArchives", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "ForeignStoresTests", dependencies: ["ForeignStores", "Exchange"], exclude: ["Vectors"],
      swiftSettings: settings),
    .testTarget(name: "SealingTests", dependencies: ["Ground", "Sealing", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "GroupFileTests", dependencies: ["GroupFile", "Sealing", "CVaultSQLite", "CVaultSystem", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "VaultTests", dependencies: ["Vault", "GroupFile", "Sealing", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "KeychainItemsTests", dependencies: ["KeychainItems", "VaultFoundation"], swiftSettings: settings),
    .testTarget(name: "VaultFoundationTests", dependencies: ["VaultFoundation"], swiftSettings: settings),
    .testTarget(
      name: "VaultCommandsTests",
      dependencies: [
        "VaultCommands", "Authenticators", "Vault", "GroupFile", "KeyedArchives", "Sealing", "CVaultProcess",
        "TestSupport",
      ],
      swiftSettings: settings),
  ]
)
