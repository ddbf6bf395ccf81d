// swift-tools-version: 6.2

import PackageDescription

// A package of somebody else's that enables every trait: the tests of VaultServices and of the daemon, which the package
// itself cannot build without fetching what they need.
let package = Package(
  name: "services",
  dependencies: [
    .package(name: "vault", path: "../..", traits: ["Configuration", "Daemon", "Lifecycle", "Logging", "Metrics"]),
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
    .testTarget(
      name: "VaultServicesTests",
      dependencies: [
        .product(name: "Vault", package: "vault"), .product(name: "VaultServices", package: "vault"),
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "ConfigurationTesting", package: "swift-configuration"),
        .product(name: "InMemoryLogging", package: "swift-log"), .product(name: "Logging", package: "swift-log"),
        .product(name: "MetricsTestKit", package: "swift-metrics"), .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ]),
    .testTarget(
      name: "VaultDaemonTests",
      dependencies: [
        .product(name: "Vault", package: "vault"), .product(name: "VaultDaemon", package: "vault"),
        .product(name: "vaultd", package: "vault"), .product(name: "vault", package: "vault"),
        .product(name: "KeychainItems", package: "vault"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]),
  ]
)
