// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "orders-service",
  dependencies: [
    // In a service of your own: .package(url: "…", from: "…", traits: ["Lifecycle"])
    .package(name: "vault", path: "../..", traits: ["Lifecycle"]),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
  ],
  targets: [
    .executableTarget(
      name: "OrdersService",
      dependencies: [
        .product(name: "Vault", package: "vault"),
        .product(name: "VaultServices", package: "vault"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
      ])
  ]
)
