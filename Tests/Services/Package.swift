// swift-tools-version: 6.2

import PackageDescription

// A package of somebody else's that enables every trait: the tests of VaultServices, which the package itself cannot build
// without fetching what they need.
let package = Package(
  name: "services",
  dependencies: [
    .package(name: "vault", path: "../..", traits: ["Configuration", "Lifecycle", "Logging", "Metrics"]),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
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
      ])
  ]
)
